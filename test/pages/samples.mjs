// Pages with one mistake each, and what must be said about them.

import { complaintsAboutCommands } from "./commands.mjs";
import { complaintsAboutLinks } from "./links.mjs";
import { pageOfWorkflow } from "./markdown.mjs";

const samples = [
    ["[a](#a-title)\n\n## A title\n", null],
    ["[a\nb](test/README.md), [c](test) and `[d](e)`\n", null],
    ["```\n[a](b)\n```\n\n    [a](b)\n", null],
    ["[a](#title)\n\n## A title\n", "sample.md:1: #title: no heading has this anchor"],
    ["a\n[a](b.md)\n", "sample.md:2: b.md does not exist"],
    ["[a](../b)\n", "sample.md:1: ../b does not exist"],
    ["[a](LICENSE#a)\n", "sample.md:1: LICENSE#a has an anchor, but is not a page"],
    ["[a](http://)\n", "sample.md:1: http:// is not a valid address"],
    ["[a][b]\n", "sample.md:1: [b] has no address"],
    ["`test/style --self-check` and `test/run -L unit`\n", null],
    ["    test/run --servers [ctest arguments]\n", null],
    ["    $ test/run --server\n", "sample.md:1: test/run has no option --server"],
    ["A `test/run --server`.\n", "sample.md:1: test/run has no option --server"],
    ["a\n\n    test/run a \\\n    --serves\n", "sample.md:4: test/run has no option --serves"],
    ["    build/test/oracle --check 1\n", "sample.md:1: build/test/oracle has no option --check"],
    ["```sh\nX=1 nice -n 5 build/test/oracles\n```\n", "sample.md:2: build/test/oracles does not exist"],
    ["`src/core/state.hpp`, `core/state.hpp` and `<colimit/key.hpp>`\n", null],
    [pageOfWorkflow("steps:\n  - run: test/run\n"), null],
    [pageOfWorkflow("steps:\n  - run: test/run --server\n"),
        "sample.md:2: test/run has no option --server"],
    [pageOfWorkflow("  - name: a\n    run: build/test/unity\n"),
        "sample.md:2: build/test/unity does not exist"],
    ["a `core/status.hpp`\n", "sample.md:1: core/status.hpp does not exist"],
];

export function complaintsAboutSamples(root, files, build, tool, isPartial) {
    const usable = samples.filter(([text]) => !isPartial || !text.includes("build/"));
    return usable.flatMap(([text, expected]) => {
        const pages = new Map([["sample.md", text]]);
        const found = [
            ...complaintsAboutLinks(root, pages),
            ...complaintsAboutCommands(root, pages, files, build, tool, isPartial),
        ];
        return found.join("\n") === (expected ?? "")
            ? []
            : [`samples.mjs: ${JSON.stringify(text)} should give "${expected}", but gives "${found}"`];
    });
}
