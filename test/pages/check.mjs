// Checks the pages (README.md and the like) of this repository: their links, and the commands that
// they show, or that a workflow runs.
//
//     node check.mjs ROOT BUILD TOOL [--built]
//
// With --built nothing is said of programs that are not in BUILD. It first shows that it notices a
// page with mistakes (samples.mjs).

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { complaintsAboutCommands } from "./commands.mjs";
import { complaintsAboutLinks } from "./links.mjs";
import { pageOfWorkflow } from "./markdown.mjs";
import { complaintsAboutSamples } from "./samples.mjs";

const [root, build, tool, mode] = process.argv.slice(2);
if (mode !== undefined && mode !== "--built") throw new Error(`${mode}: unknown (expected --built)`);
const isPartial = mode !== undefined;

function* filesBelow(folder) {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
        const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
        if (entry.name === "build" || entry.name === ".git") continue;
        if (entry.isDirectory()) yield* filesBelow(path);
        else yield path;
    }
}

const files = new Set(filesBelow(""));
const pages = new Map([...files].filter((path) => path.endsWith(".md"))
    .map((path) => [path, readFileSync(join(root, path), "utf8")]));
for (const path of files)
    if (/^\.github\/workflows\/.*\.yml$/.test(path))
        pages.set(path, pageOfWorkflow(readFileSync(join(root, path), "utf8")));
const complaints = [
    ...complaintsAboutSamples(root, files, build, tool, isPartial),
    ...complaintsAboutLinks(root, pages),
    ...complaintsAboutCommands(root, pages, files, build, tool, isPartial),
];
for (const complaint of complaints) console.log(complaint);
console.log(`${pages.size} pages, ${complaints.length} complaints`);
process.exitCode = complaints.length || pages.size < 8 ? 1 : 0;
