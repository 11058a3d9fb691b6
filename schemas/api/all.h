#pragma once
#include "schemas/api/account.h"
#include "schemas/api/audience.h"
#include "schemas/api/card.h"
#include "schemas/api/delivery.h"
#include "schemas/api/entitlement.h"
#include "schemas/api/image.h"
#include "schemas/api/key.h"
#include "schemas/api/notification.h"
#include "schemas/api/pass.h"
#include "schemas/api/reader.h"
#include "schemas/api/reward.h"
#include "schemas/api/rule.h"
#include "schemas/api/scan.h"
#include "schemas/api/subscription.h"
#include "schemas/api/system.h"
#include "schemas/api/template.h"

/* The argument ids of every operation, for the tables that are made of all of them. */
