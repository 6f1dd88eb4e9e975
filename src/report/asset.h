/* SPDX-License-Identifier: MIT */
/* style.css and script.js, made into C by tools/embed.py when the library is built. */
#ifndef LLI_REPORT_ASSET_H
#define LLI_REPORT_ASSET_H

extern const char lli_asset_style[], lli_asset_script[]; /* NUL-terminated */

#endif
