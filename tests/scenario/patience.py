"""STAMPEDE_PATIENCE, 1 to 10: the factor by which every wait's bound is multiplied on a slow machine. `ops/test`
measures it. Passing tests take no longer with it.
"""
import os

PATIENCE = min(10.0, max(1.0, float(os.environ.get("STAMPEDE_PATIENCE", "1"))))
