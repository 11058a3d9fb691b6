"""Public checkers from npm, which ops/ fetches into the build directory."""
import os
import subprocess

import pytest
from harness import ROOT


def node_environment(name):
    """The environment in which node finds that package. Skips the test if it cannot be had."""
    found = subprocess.run([ROOT / "ops" / name], capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip(f"no {name}: {found.stderr}")
    return {**os.environ, "NODE_PATH": found.stdout.strip() + "/node_modules"}
