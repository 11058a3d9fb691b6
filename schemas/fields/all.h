#pragma once
#include "schemas/fields/account.h"
#include "schemas/fields/audience.h"
#include "schemas/fields/card.h"
#include "schemas/fields/delivery.h"
#include "schemas/fields/entitlement.h"
#include "schemas/fields/image.h"
#include "schemas/fields/key.h"
#include "schemas/fields/notification.h"
#include "schemas/fields/pass.h"
#include "schemas/fields/reader.h"
#include "schemas/fields/reward.h"
#include "schemas/fields/rule.h"
#include "schemas/fields/scan.h"
#include "schemas/fields/subscription.h"
#include "schemas/fields/system.h"
#include "schemas/fields/template.h"

/* The arguments of every message, for the tables that are made of all of them. */
