#pragma once
#include "schemas/fields.h"

#include "schemas/api/ids.def"
#include "schemas/api/google.def"
#include "schemas/api/end.def"
