# Prints a header with the number by which two processes find out that they speak the same protocol: a digest of the files
# that say what messages look like. A change there needs no version number that somebody might forget to raise.
digest=$(cat "$@" | sha256sum | cut -c1-8)
printf '#pragma once\n#define PROTOCOL (0x%su | 0x80000000u)\n' "$digest"
