// The page: settings, the loop of frames, being the adversary, and the address that holds it all.
"use strict";

const $ = (id) => document.getElementById(id);
const policyNumber = (name) => DATA.policies.findIndex((policy) => policy.name === name);
const adversaryNumber = (name) => DATA.adversaries.findIndex((adversary) => adversary.name === name);

const SPEEDS = [1, 10, 100, 1000, 10000, 100000, 1000000, Infinity]; // steps per second
const FRAME = 10; // milliseconds of a frame that learners and pictures may take together
const YOU = adversaryNumber("You");
const MOST_PADS = 100; // arms that can be clicked

const ABOUT = {
    You: ["You decide", "Press the arms that should pay 1; all others pay 0. Move the reward and see which policy follows."],
    Needle: ["Needle", "One arm pays 1 with probability 0.9, its neighbours in the group with 0.1, all others with 0.4."],
    Decoy: ["Decoy", "The best arm (0.9) hides in a poor group (0.1). All arms of another group pay well (0.6); the rest 0.3."],
    UniformMeans: ["Uniform means", "Every arm pays 1 with its own probability, drawn uniformly from 0 to 1."],
    PiecewiseStationary: ["Changing means", "Every arm has its own probability. All of them are drawn anew about ten times."],
    LateBloomer: ["Late bloomer", "One arm pays nothing for the first quarter of the steps and 1 after that. All others pay 0.5."],
    BlockTrap: ["The trap (experiment 1)", "The paper's first experiment: the arm that pays is always in the block that UCB-M, in order, will hold next."],
    Alternating: ["Alternating (experiment 2)", "The paper's second experiment: arm 0 pays 1 in every other sub-phase, and all others pay a little."],
    Shifting: ["Shifting (experiment 3)", "The paper's third experiment: one arm pays 1, and it moves to another group ten times."],
};

// What the policies are, for the chips.
const POLICY = {
    HLMC: "the paper's algorithm: a hierarchy of groups. Each level restarts when the epoch above it ends. It has the theorem.",
    Champion: "HLMC that carries its best arm across epochs. The one to use.",
    "Champion, 12 bits": "Champion with 12 bits per statistic, so that more arms fit into M words.",
    "UCB-M": "holds M arms at a time, two numbers for each, in random order, and carries the most played one over.",
    "UCB-M in order": "UCB-M without the shuffle: an adversary can know what it holds next.",
    "EXP3-M": "UCB-M's scheme with EXP3 among the arms that it holds.",
    EXP3: "the standard algorithm against an adversary, with one weight per arm.",
    "Tsallis-INF": "the best known algorithm with one number per arm.",
    "Tsallis-INF, 12 bits": "Tsallis-INF with 12 bits per arm.",
    UCB1: "the standard algorithm for rewards that do not change.",
    Uniform: "chooses at random and learns nothing.",
};

const PRESETS = [
    ["Needle in 100 arms, 20 words", { arms: 100, memory: 20, horizon: 1e6, adversary: "Needle", policies: ["HLMC", "Champion", "UCB-M", "Tsallis-INF"], speed: 5 }],
    ["The trap of the paper", { arms: 100, memory: 20, horizon: 1e6, adversary: "BlockTrap", policies: ["HLMC", "Champion", "UCB-M in order", "EXP3"], speed: 5 }],
    ["The best arm moves", { arms: 100, memory: 20, horizon: 1e6, adversary: "Shifting", policies: ["HLMC", "Champion", "Tsallis-INF", "EXP3"], speed: 5 }],
    ["10,000 arms, 200 words", { arms: 10000, memory: 200, horizon: 1e6, adversary: "UniformMeans", policies: ["HLMC", "Champion", "EXP3", "Uniform"], speed: 5 }],
    ["Be the adversary", { arms: 100, memory: 20, horizon: 1e6, adversary: "You", policies: ["HLMC", "Champion", "Tsallis-INF", "UCB1"], speed: 4 }],
];

/** Settings with numbers for names; the seed is kept. */
function settingsOf(preset, seed = 0) {
    return { ...preset, seed, pays: [0], adversary: adversaryNumber(preset.adversary), policies: preset.policies.map(policyNumber) };
}

// --- The address

/** The settings as the part of the address behind the #. */
function hashOf(settings) {
    const pays = settings.adversary === YOU ? { pays: settings.pays.join("~") } : {};
    return new URLSearchParams({
        arms: settings.arms, memory: settings.memory, horizon: settings.horizon,
        adversary: DATA.adversaries[settings.adversary].name, seed: settings.seed,
        policies: settings.policies.map((i) => DATA.policies[i].name).join("~"), speed: settings.speed, ...pays,
    }).toString();
}

/** The settings in an address; what it does not say, or says wrongly, is as in the first example. */
function settingsIn(hash) {
    const given = new URLSearchParams(hash.replace(/^#/, ""));
    const standard = settingsOf(PRESETS[0][1]);
    const among = (name, values) => (values.includes(Number(given.get(name))) && given.has(name) ? Number(given.get(name)) : standard[name]);
    const policies = (given.get("policies") ?? "").split("~").map(policyNumber).filter((i) => i >= 0);
    const adversary = adversaryNumber(given.get("adversary") ?? "");
    const seeds = Array.from({ length: DATA.seeds }, (_, i) => i);
    const settings = {
        arms: among("arms", DATA.arms), memory: among("memory", DATA.memory), horizon: among("horizon", DATA.horizon),
        adversary: adversary < 0 ? standard.adversary : adversary, seed: among("seed", seeds),
        policies: policies.length ? [...new Set(policies)].sort((a, b) => a - b) : standard.policies,
        speed: among("speed", SPEEDS.map((_, i) => i)),
        pays: given.has("pays") ? given.get("pays").split("~").filter(Boolean).map(Number) : [0],
    };
    return allowed(settings);
}

/** Settings that go together: you can pay at most so many arms by hand. */
function allowed(settings) {
    if (settings.adversary === YOU && settings.arms > MOST_PADS) settings.arms = MOST_PADS;
    settings.pays = settings.pays.filter((arm) => Number.isInteger(arm) && arm >= 0 && arm < settings.arms);
    return settings;
}

function writeAddress() { history.replaceState(null, "", `#${hashOf(settings)}`); }

// --- The game on the page

let settings, game, recent, cards;
let playing = false;
let began = 0, beganTime = 0; // when Play was pressed, and the game's time then
let frames = 0;
let counted = { at: 0, time: 0 }; // when steps were last counted, for the steps per second
let drawing = 5; // milliseconds that the longest of the last pictures took
const quiet = matchMedia("(prefers-reduced-motion: reduce)");

/** Start over with some settings. */
function reset(changed = {}) {
    settings = allowed({ ...settings, ...changed });
    game = new Game(settings);
    pause();
    $("rate").textContent = "";
    if (game.yours) for (const arm of settings.pays) game.pay(arm, 1);
    recent = new Recent(game);
    writeAddress();
    showSettings();
    buildTable();
    buildPads();
    buildCards();
    writeCode();
    measure();
    draw();
}

/** Sizes that the style sheet cannot know: how wide canvases are, and the curves as high as what stands beside them. */
function measure() {
    for (const canvas of document.querySelectorAll("canvas")) canvas.shownWidth = undefined;
    $("legend").hidden = $("chart").clientWidth > NAMED;
    drawStrips($("strips"), game, recent);
    cards.forEach(showCard);
    const beside = [$("inside"), $("arena")].find((part) => part.offsetTop === $("result").offsetTop);
    const narrow = $("result").clientWidth < 520;
    $("chart").tall = beside ? Math.min(520, Math.max(340, beside.offsetHeight - 190)) : narrow ? 240 : 340;
}

function play() {
    if (game.over) reset();
    if (!game.learners.length) return;
    playing = true;
    counted = { at: 0, time: 0 };
    began = performance.now();
    beganTime = game.time;
    $("play").textContent = "Pause";
    requestAnimationFrame(frame);
}

function pause() {
    playing = false;
    $("play").textContent = game?.over ? "Play again" : game?.time ? "Go on" : "Play";
}

/** One frame: play as many steps as the speed and the time of a frame allow, then draw. */
function frame() {
    if (!playing) return;
    const rate = SPEEDS[settings.speed];
    const until = rate === Infinity ? game.horizon : beganTime + Math.floor(rate * (performance.now() - began) / 1000);
    game.advance(until, Math.max(3, FRAME - drawing));
    if (game.time < until) { // slower than asked for: do not run after it
        began = performance.now();
        beganTime = game.time;
    }
    frames++;
    if (performance.now() - counted.at > 500) {
        const rate = 1000 * (game.time - counted.time) / (performance.now() - counted.at);
        if (counted.at) $("rate").textContent = `now ${brief(Math.round(rate))} steps/s`;
        counted = { at: performance.now(), time: game.time };
    }
    if (game.over) {
        pause();
        draw();
        say();
        return;
    }
    const before = performance.now();
    if (!quiet.matches) drawPart(frames % 4);
    else if (frames % 30 === 0) draw();
    drawing = Math.max(0.95 * drawing, performance.now() - before);
    if (frames % 600 === 0) say();
    requestAnimationFrame(frame);
}

/** Draw everything. */
function draw() {
    for (const part of [0, 1, 3]) drawPart(part);
}

/** A frame draws a part of the page, so that none takes long: the curves in every other frame, the rest in turn. */
function drawPart(part) {
    $("time").textContent = game.time.toLocaleString("en");
    if (part % 2 === 0) {
        drawChart($("chart"), game, $("quantity").value);
    } else if (part === 1) {
        recent.update();
        showNumbers();
        if (game.yours) showPads();
        drawStrips($("strips"), game, recent);
    } else {
        cards.forEach(showCard);
    }
}

/** Tell those who cannot see the curves how things stand. */
function say() {
    const order = [...game.learners].sort((a, b) => game.regret(a) - game.regret(b));
    const parts = order.map((each) => `${each.name}: regret ${Math.round(game.regret(each)).toLocaleString("en")}`);
    $("status").textContent = `After ${game.time.toLocaleString("en")} steps. ${parts.join(". ")}.`;
}

// --- Settings

function options(select, values, labels = values.map((v) => v.toLocaleString("en"))) {
    select.replaceChildren(...values.map((value, i) => new Option(labels[i], value)));
}

function buildSettings() {
    options($("arms"), DATA.arms);
    options($("memory"), DATA.memory);
    options($("horizon"), DATA.horizon);
    options($("seed"), Array.from({ length: DATA.seeds }, (_, i) => i));
    options($("adversary"), DATA.adversaries.map((_, i) => i), DATA.adversaries.map(({ name }) => ABOUT[name][0]));
    for (const name of ["arms", "memory", "horizon", "seed", "adversary"]) {
        $(name).addEventListener("change", () => reset({ [name]: Number($(name).value) }));
    }
    DATA.policies.forEach((policy, i) => {
        const chip = document.createElement("label");
        chip.className = "chip";
        chip.title = POLICY[policy.name];
        const explained = () => { $("chiphint").textContent = `${policy.name}: ${POLICY[policy.name]}`; };
        for (const event of ["pointerenter", "focusin", "click"]) chip.addEventListener(event, explained);
        chip.style.setProperty("--mine", `var(--p${i})`);
        const box = document.createElement("input");
        box.type = "checkbox";
        box.value = i;
        chip.append(box, document.createElement("i"), policy.name);
        $(policy.bounded ? "bounded" : "unbounded").append(chip);
        box.addEventListener("change", () => {
            const chosen = [...$("policies").querySelectorAll(":checked")].map((each) => Number(each.value));
            reset({ policies: chosen });
        });
    });
    for (const [name, preset] of PRESETS) {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = name;
        button.addEventListener("click", () => {
            leaveStory();
            reset(settingsOf(preset, settings.seed));
            play();
        });
        $("presets").append(button);
    }
    $("chiphint").textContent = "Point at a policy to read what it is.";
    $("speed").addEventListener("input", () => {
        settings.speed = Number($("speed").value);
        began = performance.now();
        beganTime = game.time;
        showSpeed();
        writeAddress();
    });
    $("quantity").addEventListener("change", () => { explain(); draw(); });
    $("chart").addEventListener("pointermove", (event) => {
        $("chart").pointed = $("chart").timeAt?.(event.offsetX);
        drawPart(0);
        tellPoint();
    });
    $("chart").addEventListener("pointerleave", () => {
        $("chart").pointed = undefined;
        drawPart(0);
        explain();
    });
    $("play").addEventListener("click", () => (playing ? (pause(), draw(), say()) : play()));
    $("step").addEventListener("click", () => {
        pause();
        game.advance(game.time + 1);
        pause();
        draw();
    });
    $("reset").addEventListener("click", () => reset());
    $("version").textContent = DATA.version;
    document.addEventListener("keydown", (event) => {
        if (event.key !== " " || event.target.closest("button, input, select, summary, a, canvas")) return;
        event.preventDefault();
        $("play").click();
    });
    addEventListener("hashchange", () => reset(settingsIn(location.hash)));
}

function showSpeed() {
    const rate = SPEEDS[settings.speed];
    $("speed").value = settings.speed;
    $("pace").textContent = rate === Infinity ? "as fast as possible" : `${rate.toLocaleString("en")} steps/s`;
    $("speed").setAttribute("aria-valuetext", $("pace").textContent);
}

function showSettings() {
    for (const name of ["arms", "memory", "horizon", "seed", "adversary"]) $(name).value = settings[name];
    for (const option of $("arms").options) option.disabled = settings.adversary === YOU && option.value > MOST_PADS;
    for (const box of $("policies").querySelectorAll("input")) box.checked = settings.policies.includes(Number(box.value));
    showSpeed();
    const same = (preset) => ["arms", "memory", "horizon", "adversary", "policies"].every((name) => String(preset[name]) === String(settings[name]));
    [...$("presets").children].forEach((button, i) => button.setAttribute("aria-current", same(settingsOf(PRESETS[i][1]))));
    const { name } = DATA.adversaries[settings.adversary];
    $("about").textContent = ABOUT[name][1];
    $("total").textContent = settings.horizon.toLocaleString("en");
    $("refused").hidden = !game.refused.length && game.learners.length > 0;
    $("refused").textContent = game.learners.length || game.refused.length
        ? game.refused.map(([policy, why]) => `${policy} does not play: ${why}.`).join(" ") : "Pick at least one policy.";
    explain();
    $("armshint").textContent = game.yours
        ? "The lines on an arm show which policies play it now."
        : "The first strip shows what each arm pays now, the others where each policy plays.";
}

/** What the curves show. */
function explain() {
    $("charthint").textContent = $("quantity").value === "reward"
        ? "The mean reward per step until now. Higher is better."
        : "Regret: how much more the best single arm would have earned. Lower is better. Below 0: better than any single arm.";
}

/** The values of the curves where the pointer is. */
function tellPoint() {
    const point = $("chart").pointed === undefined ? undefined : pointNear(game, $("chart").pointed);
    if (!point) return explain();
    const values = game.learners.map((learner, i) => {
        const value = $("quantity").value === "reward"
            ? (point.earned[i] / Math.max(1, point.time)).toFixed(3)
            : Math.round(point.best - point.earned[i]).toLocaleString("en");
        return `${learner.name} ${value}`;
    });
    $("charthint").textContent = `Step ${point.time.toLocaleString("en")}: ${values.join("; ")}`;
}

// --- Numbers

/** The words of a learner as statistics + control: the paper counts the former alone. */
function wordsOf(learner) {
    const { statistics } = learner.program;
    return `${statistics.toLocaleString("en")} + ${learner.words - statistics}`;
}

function buildTable() {
    $("legend").replaceChildren(...game.learners.map((learner) => {
        const entry = document.createElement("li"), mark = document.createElement("i");
        mark.style.setProperty("--mine", `var(--p${learner.policy})`);
        entry.append(mark, learner.name);
        return entry;
    }));
    $("numbers").tBodies[0].replaceChildren(...game.learners.map((learner) => {
        const row = document.createElement("tr");
        row.style.setProperty("--mine", `var(--p${learner.policy})`);
        row.innerHTML = "<td><i></i></td><td></td><td></td><td></td><td><span></span><meter min=0 max=1></meter></td><td></td>";
        row.cells[0].append(learner.name);
        row.cells[1].textContent = wordsOf(learner);
        row.cells[1].title = `${learner.program.statistics} statistics, ${learner.words - learner.program.statistics} words of control`;
        return row;
    }));
}

function showNumbers() {
    game.learners.forEach((learner, i) => {
        const { cells } = $("numbers").tBodies[0].rows[i];
        const rate = recent.rates[i];
        cells[2].textContent = Math.round(game.regret(learner)).toLocaleString("en");
        cells[3].textContent = game.time ? (learner.earned / game.time).toFixed(3) : "–";
        cells[4].firstChild.textContent = rate.toFixed(2);
        cells[4].lastChild.value = rate;
        cells[5].textContent = game.time ? duration(1e6 * learner.spent / game.time) : "–";
    });
}

// --- Being the adversary

function buildPads() {
    $("you").hidden = !game.yours;
    document.querySelector("main").classList.toggle("you", game.yours);
    const pads = [];
    for (let arm = 0; game.yours && arm < game.arms; arm++) {
        const pad = document.createElement("button");
        pad.type = "button";
        pad.append(String(arm));
        for (const learner of game.learners) {
            const line = document.createElement("span");
            line.style.setProperty("--mine", `var(--p${learner.policy})`);
            pad.append(line);
        }
        pad.addEventListener("click", () => setPay(arm, game.paying[arm] ? 0 : 1));
        pads.push(pad);
    }
    $("pads").style.setProperty("--across", { 16: 8, 36: 9 }[game.arms] ?? 10);
    $("pads").replaceChildren(...pads);
    markPads();
}

function setPay(arm, reward) {
    game.pay(arm, reward);
    paid();
}

/** After a change of what pays. */
function paid() {
    settings.pays = [...game.paying.keys()].filter((arm) => game.paying[arm] > 0);
    writeAddress();
    markPads();
    if (!playing) draw();
}

function markPads() {
    [...$("pads").children].forEach((pad, arm) => {
        pad.setAttribute("aria-pressed", game.paying[arm] > 0);
        pad.setAttribute("aria-label", `arm ${arm}${game.paying[arm] > 0 ? ", pays" : ""}`);
    });
}

function showPads() {
    [...$("pads").children].forEach((pad, arm) => {
        game.learners.forEach((_, i) => {
            pad.children[i].style.transform = `scaleX(${Math.min(1, recent.shares[i][arm]).toFixed(2)})`;
        });
    });
}

/** The arm that is played least of late, over all learners, from the middle on; of several, the first. */
function leastPlayed() {
    const share = (arm) => recent.shares.reduce((sum, each) => sum + each[arm], 0);
    const order = [...game.paying.keys()].map((i) => (i + Math.floor(game.arms / 2)) % game.arms);
    return order.reduce((best, arm) => (share(arm) < share(best) ? arm : best));
}

function buildAdversary() {
    const only = (chosen) => {
        for (let arm = 0; arm < game.arms; arm++) if (game.paying[arm] !== (arm === chosen ? 1 : 0)) game.pay(arm, arm === chosen ? 1 : 0);
        paid();
    };
    $("move").addEventListener("click", () => {
        const now = game.paying.findIndex((reward) => reward > 0);
        only((Math.max(0, now) + Math.ceil(game.arms * 0.382)) % game.arms);
    });
    $("clear").addEventListener("click", () => only(-1));
    $("starve").addEventListener("click", () => only(leastPlayed()));
    $("pads").addEventListener("keydown", (event) => {
        const moves = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: padsAcross(), ArrowUp: -padsAcross() };
        const at = [...$("pads").children].indexOf(document.activeElement);
        if (!(event.key in moves) || at < 0) return;
        event.preventDefault();
        $("pads").children[Math.max(0, Math.min(game.arms - 1, at + moves[event.key]))].focus();
    });
    $("strips").addEventListener("pointermove", (event) => {
        const arm = $("strips").armAt?.(event.offsetX);
        $("armname").textContent = arm === null || arm === undefined ? "" : `arm ${arm.toLocaleString("en")}: pays ${game.means[arm].toFixed(2)} now`;
    });
}

const padsAcross = () => getComputedStyle($("pads")).gridTemplateColumns.split(" ").length;

// --- Insides

function buildCards() {
    cards = game.learners.map((learner) => {
        const card = document.createElement("article");
        card.className = "card";
        card.style.setProperty("--mine", `var(--p${learner.policy})`);
        card.innerHTML = '<header><div><h3></h3><p class="epoch"></p></div><canvas class="ring" role="img"></canvas></header>'
            + '<canvas class="tree" role="img"></canvas><p class="crown"></p>'
            + '<canvas class="row" tabindex="0" role="application"></canvas><p class="word"></p>';
        card.querySelector("h3").textContent = learner.name;
        const parts = {
            learner, card, ring: card.querySelector(".ring"), tree: card.querySelector(".tree"),
            row: card.querySelector(".row"), word: card.querySelector(".word"), crown: card.querySelector(".crown"), about: card.querySelector("header p"),
        };
        parts.ring.setAttribute("aria-label", "How much of the epoch has passed");
        parts.row.setAttribute("aria-label", `The row of ${learner.name}: ${learner.words} words. Use the arrow keys.`);
        parts.crown.hidden = learner.own("DOUBT") === undefined;
        for (const name of ["pointermove", "pointerdown"]) {
            parts.row.addEventListener(name, (event) => {
                parts.word.ariaLive = "off";
                pointAt(parts, parts.row.wordAt?.(event.offsetX, event.offsetY));
            });
        }
        parts.row.addEventListener("keydown", (event) => {
            const across = parts.row.across ?? 1;
            const move = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: across, ArrowUp: -across }[event.key];
            if (move === undefined) return;
            event.preventDefault();
            parts.word.ariaLive = "polite"; // read out where the keys lead, not what changes meanwhile
            const from = parts.row.cursor ?? -1;
            pointAt(parts, Math.max(0, Math.min(learner.words - 1, from + move)));
        });
        return parts;
    });
    $("cards").replaceChildren(...cards.map(({ card }) => card));
}

function pointAt(parts, index) {
    if (index === undefined) return;
    parts.row.cursor = index;
    tellWord(parts);
    drawWords(parts.row, parts.learner);
}

function tellWord({ learner, row, word }) {
    if (row.cursor === undefined) return;
    const [name, meaning] = learner.wordAt(row.cursor);
    const [, , kind] = learner.wordAt(row.cursor);
    const raw = new BigUint64Array(learner.row.buffer, learner.row.byteOffset, learner.words)[row.cursor];
    const isNumber = row.cursor !== L.KEY && kind !== "coded";
    const value = isNumber ? `${+learner.row[row.cursor].toPrecision(6)}` : `0x${raw.toString(16).padStart(16, "0")}`;
    const strong = document.createElement("b");
    strong.textContent = `${row.cursor} ${name} = ${value}`;
    word.replaceChildren(strong, meaning ? ` ${meaning}` : "");
}

function showCard(parts) {
    const { learner } = parts;
    const levels = learner.tree();
    drawTree(parts.tree, learner, levels);
    drawClock(parts.ring, learner, levels);
    drawWords(parts.row, learner);
    if (parts.word.ariaLive !== "polite") tellWord(parts);
    parts.tree.setAttribute("aria-label", described(learner, levels));
    const { row } = learner;
    const length = Math.min(row[L.UNTIL], game.horizon) - row[L.BEGAN];
    const passed = row[L.TIME] - row[L.BEGAN];
    const epoch = !length ? "not started"
        : length >= game.horizon ? "no epochs" : `epoch: ${passed.toLocaleString("en")} of ${length.toLocaleString("en")} steps`;
    parts.ring.style.visibility = epoch === "no epochs" ? "hidden" : "visible"; // it keeps its place
    parts.about.textContent = `${wordsOf(learner)} words\n${epoch}`;
    if (!parts.crown.hidden && levels.length) {
        const challenge = ["", " · challenged by chance", " · challenged after a crisis", " · rematch"][learner.own("CHALLENGE")] ?? "";
        parts.crown.textContent = `★ Champion: arm ${learner.armOf(0)} · doubt ${learner.own("DOUBT").toFixed(3)}${challenge}`;
    } else if (!parts.crown.hidden) {
        parts.crown.textContent = "★ No champion yet";
    }
}

// --- Python

function writeCode() {
    const made = game.learners.map((learner) => `    "${learner.name}": hlmc.${learner.program.call},`);
    const lines = ["import hlmc", "", "policies = {", ...made, "}"];
    if (game.yours) {
        lines.push("# You are the adversary: give the rewards yourself.");
        const first = game.learners[0];
        if (first) lines.push(`learner = policies["${first.name}"].start(seed=${settings.seed})`, "arm = learner.select()", "learner.update(1.0)");
    } else {
        lines.push(`adversary = hlmc.adversaries.${game.call}`);
        lines.push(`result = hlmc.simulate(policies, adversary, horizon=${settings.horizon}, runs=1, seed=${settings.seed})`);
        lines.push('result.regret("pseudo")');
    }
    $("code").textContent = lines.join("\n");
    $("codehint").textContent = game.yours
        ? "The page runs the library's own kernels, compiled to WebAssembly. These are its policies."
        : "The page runs the library's own kernels, compiled to WebAssembly: this gives the same arms and rewards, bit for bit.";
}

// --- Theme

function setTheme(dark, keep) {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    $("theme").setAttribute("aria-pressed", dark);
    forgetColours();
    try { if (keep) localStorage.setItem("hlmc-theme", dark ? "dark" : "light"); } catch { /* not kept */ }
    if (game) draw();
}

function buildTheme() {
    let kept = null;
    // The other pages keep what the reader chose as "mode"; "theme" is then what their system had at the last visit.
    try {
        kept = localStorage.getItem("hlmc-theme") ?? localStorage.getItem("mode");
    } catch { /* as the system has it */ }
    if (kept === "auto") kept = null;
    const system = matchMedia("(prefers-color-scheme: dark)");
    setTheme(kept ? kept === "dark" : system.matches, false);
    system.addEventListener("change", () => setTheme(system.matches, false));
    $("theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme !== "dark", true));
}

// --- Begin

buildTheme();
buildSettings();
buildAdversary();
buildStory();
$("copy").addEventListener("click", () => navigator.clipboard?.writeText($("code").textContent));
$("share").addEventListener("click", async () => {
    try {
        await navigator.clipboard.writeText(location.href);
        $("share").textContent = "Copied";
    } catch {
        $("share").textContent = "Copy it from the address bar";
    }
    setTimeout(() => { $("share").textContent = "Copy link"; }, 2000);
});
$("site").hidden = location.protocol === "file:";
addEventListener("resize", () => {
    measure();
    draw();
});
const asked = new URLSearchParams(location.hash.slice(1)).has("play"); // reset() writes the address anew
const told = location.hash.length < 2; // an address without settings begins with the story
reset(settingsIn(location.hash));
if (told) tell(0, false);
else leaveStory();
if (asked) play();
