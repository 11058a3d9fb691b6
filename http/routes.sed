s/^(ROUTE|PAGE)\(([A-Z_]+),.*/ROUTE(\2)/p
