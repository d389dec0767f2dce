# SPDX-License-Identifier: Apache-2.0
"""An application's life, from its start to its end."""
