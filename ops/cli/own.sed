s/^COMMAND\([A-Z_]+, ([a-z]+), ([a-z]+), OWN,.*/OWN(\1, \2)/p
