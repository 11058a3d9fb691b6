#pragma once
#include "schemas/fields.h"

#include "schemas/api/ids.def"
#include "schemas/api/pass_command.def"
#include "schemas/api/end.def"
