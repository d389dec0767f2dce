# SPDX-License-Identifier: Apache-2.0
"""The `headrace` command: one file per subcommand."""
