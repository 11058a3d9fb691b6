/* The table of shapes. */
#include "schemas/wallet/shape.h"

#include "schemas/err.h"

static const struct shape_form rows[SHAPE_END] = {
#define S(number, NAME, file, role, width, height, how) [number] = {file, width, height, SHAPE_##how},
#include "schemas/wallet/shape.def"
#undef S
};

/* Every logo serves as icon too, where there is no icon of its own. */
enum { FROM_ICON = SHAPE_OF_ICON | SHAPE_OF_LOGO, FROM_LOGO = SHAPE_OF_LOGO, FROM_BANNER = SHAPE_OF_BANNER };

static const uint8_t roles_of[SHAPE_END] = {
#define S(number, NAME, file, role, width, height, how) [number] = FROM_##role,
#include "schemas/wallet/shape.def"
#undef S
};

const struct shape_form *shape_of(enum shape shape)
{
	must(shape > 0 && shape < SHAPE_END);
	return &rows[shape];
}

unsigned shapes_of_roles(unsigned roles)
{
	unsigned shapes = 0;
	for (unsigned i = 1; i < SHAPE_END; i++)
		if (roles_of[i] & roles) shapes |= SHAPE_BIT(i);
	return shapes;
}

const char *shape_fault_text(enum shape_fault fault)
{
	static const char *const texts[SHAPE_FAULTS] = {
	    [SHAPE_DAMAGED] = "its pixels are damaged",
	    [SHAPE_INTERLACED] = "it is interlaced and has more than a million pixels",
	};
	return fault < SHAPE_FAULTS ? texts[fault] : texts[SHAPE_DAMAGED];
}
