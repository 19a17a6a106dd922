/*
 * The Wines under which the whole suite passes with either engine and hook. For what people read, never for a decision:
 * what this Wine is like is probed. scripts/matrix --write takes it from tests/records/matrix.json, and changes the
 * documents that say the same.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define UMS_KNOWN_WINES "8.0, 10.0 and 11.13"
