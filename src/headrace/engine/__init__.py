# SPDX-License-Identifier: Apache-2.0
"""The only door to the JVM: Java, jars, settings, session."""
