// The extension in the real editor, driven in Chromium: types beside names, hovering, an error as it is typed, completion.
// editors/README.md has the commands. Not one of the project's tests: it needs packages of npm.
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const [address, browser = "/usr/bin/chromium"] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "vlad-"));
const program = `(define weights #[[1 2] [3 4]])

(define (score x)
  (sum (matmul weights x)))

(score #[1 2])
`;
writeFileSync(join(folder, "shapes.vlad"), program);

function expect(what, text, words) {
  if (!text.replaceAll("\u00a0", " ").includes(words)) {
    throw new Error(`${what}: ${words} is not in ${text}`);
  }
  console.log(`${what}: ${words}`);
}

const window = await chromium.launch({ executablePath: browser, args: ["--no-sandbox"] });
const page = await window.newPage({ viewport: { width: 1200, height: 700 } });
page.setDefaultTimeout(90000);
await page.goto(`${address}/?folder=${folder}`);
await page.locator(".explorer-folders-view >> text=shapes.vlad").dblclick();
const editor = page.locator(".editor-instance");
await editor.getByText("tensor (2 2)").waitFor();
expect("beside a name", await editor.locator(".view-lines").innerText(), "weights : tensor (2 2)");

await editor.locator(".view-line span", { hasText: /^.?matmul.?$/ }).first().hover();
await page.locator(".monaco-hover:not(.hidden) .hover-contents").first().waitFor();
expect("hovering", await page.locator(".monaco-hover:not(.hidden)").first().innerText(), "The product of matrices");

await editor.locator(".view-line").last().click();
await page.keyboard.press("Control+End");
await page.keyboard.type("(score #[1 2 3])");
await page.keyboard.press("Control+Shift+M");
const problems = page.locator(".markers-panel");
await problems.getByText("do not fit").waitFor();
expect("an error", await problems.innerText(), "Shapes given to matmul do not fit: (2 2) and (3)");

await page.keyboard.press("Control+1");
await page.keyboard.press("Enter");
await page.keyboard.type("(gradient-d");
await page.locator(".suggest-widget.visible .monaco-list-row").first().waitFor();
expect("completion", await page.locator(".suggest-widget").innerText(), "gradient-descent");
await page.screenshot({ path: join(folder, "editor.png") });
console.log(`picture: ${join(folder, "editor.png")}`);
await window.close();
