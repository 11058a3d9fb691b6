/* The neutral icon. */
#include "schemas/wallet/icon.h"

#define I(file, bytes) {file, {(const uint8_t *)bytes, sizeof bytes - 1}},
const struct wallet_icon wallet_icons[WALLET_ICONS] = {
#include "schemas/wallet/icon.def"
};
#undef I
