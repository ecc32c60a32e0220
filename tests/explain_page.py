"""explain_page.py TESSERA [SCREENSHOT-FOLDER]: steps through the pages of `tessera explain --format html`, and looks at that
of `tessera roofline`, in a headless Chromium, at a phone's width and at a desk's, by keys and mouse. Exit code 77 where
there is no Chromium."""
import subprocess
import sys
import tempfile

from browser import Browser, Missing

checks = 0
failures = 0


def check(is_true, what):
    global checks, failures
    checks += 1
    if not is_true:
        failures += 1
        print("FAILED: " + what)


def text(browser, id):
    return browser.run("return document.getElementById(arguments[0]).textContent", id)


def same(browser, script, wanted, what):
    got = browser.run("return " + script)
    check(got == wanted, "%s: %r, not %r" % (what, got, wanted))


def make(tessera, folder, name, *arguments):
    path = "%s/%s.html" % (folder, name)
    subprocess.run([tessera, "explain", *arguments, "--format", "html", "--out", path], check=True)
    with open(path) as page:
        content = page.read()
    for outside in ("http://", "https://", "src=", "<link", "@import"):
        check(outside not in content, "%s is not self-contained: it has %s" % (name, outside))
    return path


def fits(browser, width, name):
    same(browser, "document.documentElement.scrollWidth", width, name + " is as wide as the window")
    check(browser.errors() == [], name + " reports errors")


def small(browser, path):
    """4 x 4 by tiles of 2 x 2: every number is known."""
    browser.open(path)
    fits(browser, 375, "the small page")
    same(browser, "frames.map((f) => f.type[0]).join('')", "bbbmmbbbbmmbs", "frames")
    same(browser, "at", 0, "the page begins at the first step")
    check("A[0..1, 0..1]" in text(browser, "what"), "first step: " + text(browser, "what"))
    browser.press("Right", "Right", "Right", "Right")
    same(browser, "at", 4, "four times the right arrow")
    check("k = 1" in text(browser, "what"), "step 4: " + text(browser, "what"))
    check("C[0,0] = 1 + A[0,1] * B[1,0] = 1 + 2 * 5 = 11" in text(browser, "thread"), text(browser, "thread"))
    browser.press("Left")
    same(browser, "at", 3, "the left arrow")
    browser.press("Left", "Left", "Left", "Left", "Left")
    same(browser, "at", 0, "no step before the first")
    browser.press("End")
    same(browser, "at === frames.length - 1", True, "End")
    browser.press("Right")
    same(browser, "at === frames.length - 1", True, "no step after the last")
    same(browser, "[0, 1].map((i) => [0, 1].map((j) => sumOf(i, j, at).sum))", [[90, 100], [202, 228]], "the result")
    browser.press("Home", "PageDown")
    same(browser, "frames[at].phase", 1, "Page Down goes to the next phase")
    browser.press("PageUp")
    same(browser, "at", 0, "Page Up goes back")
    same(browser, "held.filter((h) => h).map((h) => h.operand + h.element).join(' ')", "A0 A1 A4 A5", "shared memory after the first step")
    browser.run("go(2)")
    same(browser, "held.map((h) => h.operand + h.element).join(' ')", "A0 A1 A4 A5 B0 B1 B4 B5", "and when it is full")


def mouse(browser):
    """Buttons, the slider's place, and a click on C."""
    browser.run("go(0); scrollTo(0, 0)")
    for id, wanted in (("next", 1), ("last", 12), ("back", 11), ("first", 0)):
        box = browser.run("const b = document.getElementById(arguments[0]).getBoundingClientRect();"
                          "return [b.x + b.width / 2, b.y + b.height / 2]", id)
        browser.click(*box)
        same(browser, "at", wanted, "a click on " + id)
        same(browser, "Number(document.getElementById('seek').value)", wanted, "the slider")
    browser.run("document.getElementById('matrices').scrollIntoView({block: 'center'})")
    place = browser.run("const l = layout(), b = document.getElementById('matrices').getBoundingClientRect();"
                        "return [b.x + l.C.x + 1.5 * l.cell, b.y + l.C.y + 0.5 * l.cell]")
    browser.click(*place)
    same(browser, "[thread, element]", [1, [0, 1]], "a click on C[0,1] follows thread 1")
    check(text(browser, "threadTitle").startswith("Thread (1, 0)"), text(browser, "threadTitle"))


def large(browser, path, width):
    browser.open(path)
    fits(browser, width, "the large page")
    same(browser, "new Set(frames.map((f) => f.phase)).size", 8, "phases")
    same(browser, "frames.filter((f) => f.type === 'multiply').length", 256, "steps of k")
    browser.press("PageDown", "PageDown", "PageDown")
    same(browser, "frames[at].phase", 3, "Page Down")
    check("96..127" in text(browser, "what"), "phase 3 brings " + text(browser, "what"))
    browser.press("End")
    wanted = sum((1 + (32 * 256 + k) % 17) * (1 + (k * 256 + 64) % 17) for k in range(256))
    same(browser, "sumOf(32, 64, at).sum", wanted, "C[32,64]")
    painted = browser.run("const c = document.getElementById('shared'), g = c.getContext('2d');"
                          "return new Set(g.getImageData(0, 0, c.width, c.height).data).size")
    check(painted > 20, "shared memory is not drawn: %r values" % painted)


def roofline(browser, tessera, folder):
    """The other page that the command makes: its chart can be read on a phone."""
    path = folder + "/roofline.html"
    subprocess.run([tessera, "roofline", "--device", "h200", "--kernel", "naive,tiled", "--sizes", "64", "--format",
                    "html", "--out", path], check=True)
    browser.open(path)
    fits(browser, 375, "the roofline")
    smallest = browser.run(
        "const svg = document.querySelector('svg'), scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;"
        "return Math.min(...[...svg.querySelectorAll('text')].map((t) => scale * parseFloat(getComputedStyle(t).fontSize)))")
    check(smallest >= 8.5, "the chart's smallest letters have %r pixels" % smallest)
    cut = browser.run(
        "const edge = document.querySelector('.chart').getBoundingClientRect().right;"
        "return [...document.querySelectorAll('.axis, .roof, .rooftext, .number, .bound')]"
        ".filter((e) => e.getBoundingClientRect().right > edge + 0.5).map((e) => e.textContent)")
    check(cut == [], "beyond the edge: %r" % cut)


def main():
    tessera, shots = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    with tempfile.TemporaryDirectory() as folder:
        tile2 = make(tessera, folder, "small", "tiled", "--m", "4", "--n", "4", "--k", "4", "--tile", "2")
        tile32 = make(tessera, folder, "large", "tiled", "--m", "256", "--n", "256", "--k", "256", "--tile", "32",
                      "--block", "2,1")
        others = [make(tessera, folder, kernel, kernel, *more) for kernel, *more in (
            ["naive"], ["swizzled"], ["warptile"], ["mma", "--dtype", "bf16"],
            ["tiled", "--m", "5", "--n", "7", "--k", "6", "--tile", "4", "--block", "1,1"])]
        try:
            phone = Browser(375, 800)
        except Missing as reason:
            print("skipped: " + str(reason))
            return 77
        try:
            small(phone, tile2)
            if shots:
                phone.screenshot(shots + "/explain-phone.png")
            mouse(phone)
            large(phone, tile32, 375)
            for path in others:
                phone.open(path)
                phone.press("Right", "Right", "End")
                fits(phone, 375, path)
                same(phone, "at === frames.length - 1", True, path)
            roofline(phone, tessera, folder)
            if shots:
                phone.screenshot(shots + "/roofline-phone.png")
        finally:
            phone.quit()
        desk = Browser(1200, 900)
        try:
            large(desk, tile32, 1200)
            if shots:
                desk.screenshot(shots + "/explain-desk.png")
        finally:
            desk.quit()
    print("%d checks, %d failed" % (checks, failures))
    return 1 if failures or checks == 0 else 0


sys.exit(main())
