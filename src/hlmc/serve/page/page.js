// The page of hlmc serve: reads the stream of an experiment, draws it, and changes its arms.
"use strict";

const $ = (id) => document.getElementById(id);
const TOKEN = "hlmc-token";
const SHOWN = 8; // curves of arms
const LISTED = 20; // arms that a report has at most
const ENOUGH = 30; // rewards of a point of a curve
const Z = 1.96;
let experiment = null; // what /v1/NAME says
let points = []; // sums over time, as the stream gives them
let report = null;
let reading = null; // stops the stream that is read

// --- Requests. A token is a header, never part of an address.

function headers(more) {
    const token = sessionStorage.getItem(TOKEN);
    return token ? { ...more, Authorization: `Bearer ${token}` } : { ...more };
}

async function request(path, body) {
    const options = body === undefined ? { headers: headers() }
        : { method: "POST", headers: headers({ "Content-Type": "application/json" }), body: JSON.stringify(body) };
    const answer = await fetch(path, options);
    const content = await answer.json();
    if (!answer.ok) throw Object.assign(new Error(content.detail), { status: answer.status });
    return content;
}

const address = (rest = "") => `/v1/${encodeURIComponent($("experiment").value)}${rest}`;

/** The events of a stream, one after the other. */
async function* events(path, signal) {
    const answer = await fetch(path, { headers: headers(), signal });
    if (!answer.ok) throw Object.assign(new Error((await answer.json()).detail), { status: answer.status });
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        const parts = (text + value).split("\n\n");
        text = parts.pop();
        for (const part of parts) {
            const kind = part.match(/^event: (.*)$/m), data = part.match(/^data: (.*)$/m);
            if (kind && data) yield [kind[1], JSON.parse(data[1])];
        }
    }
}

// --- What is read

async function start() {
    try {
        const { experiments } = await request("/v1");
        const chosen = $("experiment").value || decodeURIComponent(location.hash.slice(1));
        $("experiment").replaceChildren(...experiments.map((name) => new Option(name, name, false, name === chosen)));
        if (!experiments.length) throw new Error("this token may see no experiment");
        await follow();
    } catch (error) {
        refused(error);
    }
}

/** Read the stream of the experiment that is chosen, and begin again when it ends. */
async function follow() {
    reading?.abort();
    const own = reading = new AbortController();
    location.hash = encodeURIComponent($("experiment").value);
    points = [];
    report = null;
    while (!own.signal.aborted) {
        try {
            experiment = await request(address());
            showPolicy();
            for await (const [kind, data] of events(address("/stream"), own.signal)) {
                if (own.signal.aborted) return;
                said("live", true);
                if (kind === "past") points = data;
                else if (kind === "point") points.push(data);
                else if (kind === "report") { report = data; show(); }
                if (points.length > 3000) points = points.filter((_, i) => i % 2 || i > 1500);
            }
            said("the service has stopped", false);
        } catch (error) {
            if (own.signal.aborted) return;
            if (error.status === 401 || error.status === 403) return refused(error);
            said("not connected", false);
        }
        await new Promise((done) => setTimeout(done, 2000));
    }
}

function said(text, live) {
    if ($("state").textContent !== text) $("state").textContent = text;
    $("state").dataset.live = live;
}

function refused(error) {
    said(error.message, false);
    if (error.status === 401 || error.status === 403) {
        $("token-box").open = true;
        $("token").focus();
    }
}

// --- Numbers

const number = (x, digits = 3) => (x === null || x === undefined ? "–" : Number(x.toPrecision(digits)).toLocaleString("en"));
const count = (n) => n.toLocaleString("en");
const percent = (x) => `${(100 * x).toFixed(x < 0.0995 ? 1 : 0)} %`;
const seconds = (s) => (s === null ? "–" : s < 120 ? `${number(s, 2)} s` : s < 7200 ? `${number(s / 60, 2)} min` : `${number(s / 3600, 2)} h`);
const clock = (t) => new Date(1000 * t).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

/** Mean of a group between two points, and its interval. */
function between(from, to, group) {
    const [, n, sum, squares] = to[group].map((value, i) => value - from[group][i]);
    const mean = sum / n;
    const half = Z * Math.sqrt(Math.max(0, squares / n - mean * mean) / Math.max(1, n - 1));
    return [mean, mean - half, mean + half, n];
}

/** Points of a curve: each is the mean of what came since the last one, in at least ENOUGH rewards. */
function means(group) {
    const curve = [];
    const [least, most] = experiment.rewards;
    const stride = Math.max(1, Math.floor(points.length / 60));
    // In the beginning only good news has come: decisions without a reward count after the wait.
    const settled = points[0].learned[1] >= ENOUGH ? 0 : points[0].time + 1.5 * (experiment.settings.wait ?? 0);
    let from = points[0];
    for (let i = stride; i < points.length; i += stride) {
        if (points[i][group][1] - from[group][1] < ENOUGH) continue;
        const [mean, low, high] = between(from, points[i], group);
        from = points[i];
        if (from.time < settled) continue;
        curve.push([from.time, mean, Math.max(low, least), Math.min(high, most)]);
    }
    return curve;
}

/** Shares of the arms in what came since the last point. */
function shares(names) {
    const stride = Math.max(1, Math.floor(points.length / 60));
    const curves = names.map(() => []);
    for (let i = stride; i < points.length; i += stride) {
        const from = points[i - stride], to = points[i];
        const all = to.learned[0] - from.learned[0];
        if (!all) continue;
        names.forEach((name, k) => {
            if (!(name in to.arms)) return;
            if (name in from.arms) curves[k].push([to.time, (to.arms[name] - from.arms[name]) / all]);
            else if (!curves[k].length) curves[k].push([from.time, 0]); // not among those listed: hardly played
        });
    }
    return curves;
}

// --- What is shown

function entries(list, rows) {
    list.replaceChildren(...rows.map(([name, value, note]) => {
        const row = document.createElement("div"), dt = document.createElement("dt"), dd = document.createElement("dd");
        dt.textContent = name;
        dd.textContent = value;
        if (note) dd.append(Object.assign(document.createElement("small"), { textContent: note }));
        row.append(dt, dd);
        return row;
    }));
}

const interval = (ends) => (ends ? `${number(ends[0])} to ${number(ends[1])}` : "");

function showPolicy() {
    const { words, settings, policy, plan, guarantee, description } = experiment;
    const capacity = description.arguments.arms;
    const wait = settings.wait === null ? "rewards may come at any time"
        : `after ${seconds(settings.wait)} without a reward a decision counts as ${settings.default}`;
    $("plan").textContent = `Each learner follows ${policy} and keeps ${count(words.total)} words (${count(8 * words.total)} bytes) `
        + `for up to ${count(capacity)} arms; ${wait}${settings.control ? `; ${percent(settings.control)} of the decisions are the control group` : ""}.`;
    $("about").textContent = plan;
    $("guarantee").textContent = guarantee;
}

function show() {
    const { learned, control } = report;
    const ever = learned.mean !== null && control.mean !== null ? learned.mean - control.mean : null;
    const variance = (group) => ((group.interval[1] - group.interval[0]) / (2 * Z)) ** 2;
    const half = ever !== null && learned.interval && control.interval ? Z * Math.sqrt(variance(learned) + variance(control)) : null;
    entries($("tiles"), [
        ["Decisions", count(report.decisions), `${count(report.units)} learner${report.units === 1 ? "" : "s"}`],
        ["Mean reward, learned", number(learned.mean), interval(learned.interval)],
        ["Mean reward, control", number(control.mean), interval(control.interval) || "no control group"],
        ["Gain over control", number(ever), half === null ? "" : `${number(ever - half)} to ${number(ever + half)}`],
        ["Favourites lately", report.favourites[0]?.[0] ?? "–", report.favourites.map(([name, share]) => `${name} ${percent(share)}`).join(", ")],
        ["Memory of all learners", bytes(8 * experiment.words.total * report.units), `${count(experiment.words.total)} words each`],
    ]);
    entries($("feedback"), [
        ["Told", count(learned.told + control.told)],
        ["Pending", count(learned.pending + control.pending), "no reward yet"],
        ["Settled by default", count(learned.settled + control.settled), "missing"],
        ["Late", count(learned.late + control.late), "learned in part"],
        ["Expired", count(learned.expired + control.expired), "not learned"],
        ["Dropped", count(learned.dropped + control.dropped)],
        ["Mean delay", seconds(learned.delay), report.delay === null ? "" : `${number(report.delay, 2)} decisions of the learner`],
    ]);
    $("warnings").hidden = !report.warnings.length;
    $("warnings").replaceChildren(...report.warnings.map((text) => Object.assign(document.createElement("li"), { textContent: text })));
    draw();
    showArms();
}

function bytes(n) {
    const [unit, size] = [["GB", 1e9], ["MB", 1e6], ["kB", 1e3], ["bytes", 1]].find((each) => n >= each[1]) ?? ["bytes", 1];
    return `${number(n / size)} ${unit}`;
}

function colours() {
    const style = getComputedStyle(document.documentElement);
    return (name) => style.getPropertyValue(`--${name}`).trim();
}

function draw() {
    if (!report || !points.length) return;
    const named = colours();
    const ink = { text: named("text"), faint: named("faint"), line: named("line") };
    const begin = points[0].time, end = Math.max(begin + 1, points[points.length - 1].time);
    const [low, high] = experiment.rewards;
    const frame = { begin, end, height: 240, ink, label: clock };
    const learned = means("learned"), control = means("control");
    drawCurves($("reward"), {
        ...frame, low: Math.min(0, low), high: Math.max(...[...learned, ...control].map((p) => p[3]), low + 0.05 * (high - low)),
        curves: [{ name: "control", colour: named("control"), points: control }, { name: "learned", colour: named("learned"), points: learned }],
        empty: learned.length ? undefined : "waiting for rewards",
    });
    const last = (curve) => (curve.length ? number(curve[curve.length - 1][1]) : "not known yet");
    latest($("reward-text"), [[named("learned"), `learned ${last(learned)}`], [named("control"), `control ${last(control)}`]]);
    const names = report.arms.slice(0, SHOWN).map((each) => each.name);
    const curves = shares(names);
    drawCurves($("share"), {
        ...frame, high: 1, fixed: true, empty: curves[0]?.length ? undefined : "waiting for decisions",
        curves: names.map((name, k) => ({ name, colour: named(`p${k}`), points: curves[k] })).filter((each) => each.points.length),
    });
    const best = names.map((name, k) => [k, name, curves[k][curves[k].length - 1]?.[1] ?? 0]).sort((a, b) => b[2] - a[2]).slice(0, 3);
    latest($("share-text"), best.map(([k, name, share]) => [named(`p${k}`), `${name} ${percent(share)}`]));
}

/** The latest values in words, each with the colour of its curve: the legend where the chart is too narrow for one. */
function latest(element, entries) {
    element.replaceChildren(...entries.flatMap(([colour, text], k) => {
        const mark = document.createElement("i");
        mark.style.background = colour;
        return [k ? ", " : "Latest: ", mark, text];
    }), entries.length ? "." : "");
}

function showArms() {
    const held = document.activeElement?.closest?.("#arms") ? document.activeElement.dataset.key : null;
    const stride = points.length > 10 ? points[points.length - 11] : points[0];
    const now = points[points.length - 1];
    $("arms").replaceChildren(...report.arms.map((arm, k) => {
        const row = document.createElement("tr"), name = document.createElement("th");
        name.scope = "row";
        name.title = arm.name;
        const mark = document.createElement("i");
        if (k < SHOWN) mark.dataset.colour = k;
        name.append(mark, arm.name);
        if (arm.state !== "in play") name.append(Object.assign(document.createElement("small"), { textContent: ` (${arm.state})` }));
        const lately = now && now.learned[0] > stride.learned[0] && arm.name in now.arms && arm.name in stride.arms
            ? percent((now.arms[arm.name] - stride.arms[arm.name]) / (now.learned[0] - stride.learned[0])) : "–";
        const cells = [lately, percent(arm.share), count(arm.tally.decisions), number(arm.tally.mean)].map((text) =>
            Object.assign(document.createElement("td"), { textContent: text }));
        cells[3].title = interval(arm.tally.interval);
        const last = document.createElement("td");
        if (arm.state !== "removed") {
            last.append(button(arm.state === "paused" ? "resume" : "pause", arm.name), button("remove", arm.name));
        }
        row.append(name, ...cells, last);
        return row;
    }));
    $("arms-text").hidden = report.arms.length < LISTED;
    if (held) document.querySelector(`[data-key="${CSS.escape(held)}"]`)?.focus();
}

function button(action, name) {
    const made = Object.assign(document.createElement("button"), { type: "button", className: "small", textContent: action });
    made.setAttribute("aria-label", `${action} ${name}`);
    made.dataset.key = `${action} ${name}`;
    made.addEventListener("click", () => {
        if (action !== "remove" || confirm(`Remove ${name}? What is known of it is lost.`)) change({ action, name });
    });
    return made;
}

async function change(body) {
    try {
        await request(address("/arms"), body);
        $("done").textContent = `${body.action}: ${body.name}. It holds for all learners from their next decision on.`;
    } catch (error) {
        $("done").textContent = error.message;
        if (error.status === 401 || error.status === 403) refused(error);
    }
}

// --- What the user does

$("experiment").addEventListener("change", follow);
$("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const token = $("token").value.trim();
    $("token").value = "";
    if (token) sessionStorage.setItem(TOKEN, token);
    else sessionStorage.removeItem(TOKEN);
    $("token-box").open = false;
    start();
});
$("add-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const name = $("add").value.trim();
    if (name) change({ action: "add", name }).then(() => { $("add").value = ""; });
});

function theme(dark) {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    $("theme").setAttribute("aria-pressed", String(dark));
    draw();
}
$("theme").addEventListener("click", () => theme($("theme").getAttribute("aria-pressed") !== "true"));
const dark = matchMedia("(prefers-color-scheme: dark)");
dark.addEventListener("change", () => theme(dark.matches));
theme(dark.matches);
addEventListener("resize", () => {
    for (const id of ["reward", "share"]) $(id).shownWidth = undefined;
    draw();
});
start();
