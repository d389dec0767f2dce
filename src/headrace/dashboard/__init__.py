# SPDX-License-Identifier: Apache-2.0
"""The web page over ``headrace.observe``, and the server behind it."""
