# SPDX-License-Identifier: Apache-2.0
"""What runs inside Spark's Python workers when a real-time query calls a user's function.

It travels inside the engine jar, as the package ``headrace_worker``: executors need no installation of Headrace. So it
imports nothing of the rest, and by relative names.
"""
