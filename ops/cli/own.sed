s/^COMMAND\([A-Z_]+, ([a-z]+), ([a-z_]+), OWN,.*/OWN(\1, \2)/p
s/^[VD]\(([a-z]+), ([a-z_]+),.*/OWN(\1, \2)/p
s/^[WP]\(([a-z]+),.*/OWN(\1, alone)/p
