// A page of Markdown as its parts: headings, links, code spans and lines of code, each with its line
// number. It reads what the pages of this repository use of the format, not all of it.

// Headings become anchors as GitHub makes them.
export function anchorOf(heading) {
    const text = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1");
    return text.toLowerCase().replaceAll(/[^\p{L}\p{N}\p{Mn} _-]/gu, "").replaceAll(" ", "-");
}

// { anchors, links: [{ line, target }], spans: [{ line, text }], code: [{ line, text, language }] }
export function parse(text) {
    const page = { anchors: new Set(), links: [], spans: [], code: [] };
    const addresses = new Map();
    const references = [];
    let fence = null;
    let paragraph = { line: 1, text: "" };
    const finish = () => {
        readParagraph(page, references, paragraph);
        paragraph = { line: 0, text: "" };
    };
    let isList = false; // in a list, indented lines are text
    text.split("\n").forEach((raw, i) => {
        const line = i + 1;
        if (raw.trimStart().startsWith("```")) {
            finish();
            fence = fence === null ? { language: raw.trim().slice(3), line } : null;
            if (fence !== null) page.code.push({ line, text: "", language: fence.language, fence: true });
        } else if (fence !== null) {
            page.code.push({ line, text: raw, language: fence.language });
        } else if (raw.trim() === "") {
            finish();
        } else if (/^    /.test(raw) && paragraph.text === "" && (!isList || /^ {7}/.test(raw))) {
            page.code.push({ line, text: raw.trim(), language: "indented" });
        } else if (/^#+ /.test(raw)) {
            finish();
            isList = false;
            addAnchor(page.anchors, anchorOf(raw.replace(/^#+ /, "")));
        } else if (/^\[[^\]]+\]: /.test(raw)) {
            const [, name, target] = raw.match(/^\[([^\]]+)\]: (\S+)/);
            addresses.set(name, target);
            page.links.push({ line, target });
        } else if (!/^<!--/.test(raw)) {
            if (/^([-*]|\d+\.) /.test(raw)) isList = true;
            else if (/^\S/.test(raw)) isList = false;
            if (/^ *([-*]|\d+\.) |^\|/.test(raw)) finish();
            if (paragraph.text === "") paragraph.line = line;
            paragraph.text += raw + "\n";
        }
    });
    finish();
    for (const { line, name } of references)
        if (!addresses.has(name)) page.links.push({ line, target: null, name });
    return page;
}

// A workflow as a page: each of its commands is a line of code, with its line number.
export function pageOfWorkflow(text) {
    return text.split("\n").map((line) => line.match(/^ *(?:- )?run: (.+)/))
        .map((match) => match ? `    ${match[1]}` : "").join("\n");
}

function addAnchor(anchors, name) {
    let made = name;
    for (let n = 1; anchors.has(made); ++n) made = `${name}-${n}`;
    anchors.add(made);
}

function readParagraph(page, references, { line, text }) {
    const lineOf = (index) => line + text.slice(0, index).split("\n").length - 1;
    const prose = text.replaceAll(/`([^`]+)`/g, (whole, code, index) => {
        page.spans.push({ line: lineOf(index), text: code.replaceAll(/\s+/g, " ") });
        return whole.replaceAll(/[^\n]/g, "x");
    });
    for (const m of prose.matchAll(/\[[^\]]+\]\(([^)\s]*)\)/g))
        page.links.push({ line: lineOf(m.index), target: m[1] });
    for (const m of prose.matchAll(/\[[^\]]+\]\[([^\]]*)\]/g))
        references.push({ line: lineOf(m.index), name: m[1] });
}
