"""How many times longer than on a quiet machine every wait may take: STAMPEDE_PATIENCE, 1 to 10. `ops/test` measures it.
Nothing that works takes longer for it.
"""
import os

PATIENCE = min(10.0, max(1.0, float(os.environ.get("STAMPEDE_PATIENCE", "1"))))
