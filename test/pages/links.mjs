// Complaints about links: a file that does not exist, an anchor without a heading, an address that is
// not one. Addresses outside of the repository are not visited.

import { existsSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { parse } from "./markdown.mjs";

// pages: from the path of each page, relative to the root, to its text.
export function complaintsAboutLinks(root, pages) {
    const parsed = new Map([...pages].map(([path, text]) => [path, parse(text)]));
    const complaints = [];
    for (const [path, page] of parsed)
        for (const link of page.links) {
            const what = link.target === null ? `[${link.name}] has no address` : check(path, link.target);
            if (what) complaints.push(`${path}:${link.line}: ${what}`);
        }
    return complaints;

    function check(path, target) {
        if (/^[a-z][a-z0-9+.-]*:/.test(target))
            return URL.canParse(target) && /^https?:$/.test(new URL(target).protocol)
                ? null
                : `${target} is not a valid address`;
        const [file, anchor] = target.split("#");
        const found = file === "" ? path : relative(root, join(root, dirname(path), file));
        if (!parsed.has(found) && (found.startsWith("..") || !existsSync(join(root, found))))
            return `${target} does not exist`;
        if (anchor === undefined) return null;
        if (!parsed.has(found)) return `${target} has an anchor, but is not a page`;
        return parsed.get(found).anchors.has(anchor) ? null : `${target}: no heading has this anchor`;
    }
}
