# SPDX-License-Identifier: Apache-2.0
"""Tests that end processes; what they end runs outside of this one."""

import sys
from pathlib import Path

# They share steps with the integration tests: `from tests.integration...`.
sys.path.insert(0, str(Path(__file__).parents[2]))
