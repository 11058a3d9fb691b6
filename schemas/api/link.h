#pragma once
#include "schemas/fields.h"

#include "schemas/api/ids.def"
#include "schemas/api/link.def"
#include "schemas/api/end.def"
