// Pictures: the curves, the strips of arms, and for each learner its tree, its clock and its row of words.
"use strict";

/** Colours of the theme, read from the style sheet once. */
let ink = null;
function colours() {
    if (ink) return ink;
    const style = getComputedStyle(document.documentElement);
    const named = (name) => style.getPropertyValue(name).trim();
    ink = {
        text: named("--text"), faint: named("--faint"), line: named("--line"), card: named("--card"),
        pay: named("--pay"), words: { common: named("--common"), structure: named("--structure"), control: named("--control") },
        policies: DATA.policies.map((_, i) => named(`--p${i}`)),
    };
    return ink;
}
function forgetColours() { ink = null; }
/** A time in nanoseconds with its unit. */
function duration(ns) {
    const [unit, size] = [["ms", 1e6], ["µs", 1e3], ["ns", 1]].find((each) => ns >= 0.9995 * each[1]) ?? ["ns", 1];
    return `${+(ns / size).toPrecision(ns < 1000 ? 3 : 2)} ${unit}`;
}

/** The curves of a game. */
function drawChart(canvas, game, quantity) {
    const { text, faint, line, policies } = colours();
    const ofReward = quantity === "reward";
    const value = ofReward
        ? (point, i) => (point.time ? point.earned[i] / point.time : 0)
        : (point, i) => point.best - point.earned[i];
    const now = { time: game.time, best: game.judge(), earned: game.learners.map((each) => each.earned) };
    const points = ofReward ? [...game.points.slice(1), now] : [...game.points, now];
    const end = Math.min(game.horizon, round(Math.max(100, game.time * 1.02)));
    const pointed = canvas.pointed === undefined ? undefined : pointNear(game, canvas.pointed);
    const { timeOf } = drawCurves(canvas, {
        curves: game.learners.map((learner, i) => ({
            name: learner.name, colour: policies[learner.policy], points: points.map((point) => [point.time, value(point, i)]),
        })),
        begin: 0, end, height: canvas.tall, ink: { text, faint, line }, across: "steps",
        log: quantity === "log", high: ofReward ? 1 : 10, fixed: ofReward,
        pointed: pointed?.time, empty: game.time === 0 ? "Press Play" : undefined,
    });
    canvas.timeAt = timeOf;
}

/** The point of the curves next to a time. */
function pointNear(game, time) {
    if (time < 0 || time > game.time + game.stride) return undefined;
    return game.points.reduce((best, point) => (Math.abs(point.time - time) < Math.abs(best.time - time) ? point : best));
}

/** Plays of each arm since the last picture, faded: a share of each learner's recent plays. */
class Recent {
    constructor(game) {
        this.game = game;
        this.seen = game.learners.map((learner) => learner.plays.slice());
        this.shares = game.learners.map(() => new Float64Array(game.arms));
        this.earned = game.learners.map(() => 0);
        this.rates = game.learners.map(() => 0);
        this.time = 0;
    }

    update() {
        const steps = this.game.time - this.time;
        if (!steps) return;
        const keep = this.time === 0 ? 0 : 0.9;
        this.game.learners.forEach((learner, i) => {
            const plays = learner.plays, seen = this.seen[i], share = this.shares[i];
            for (let arm = 0; arm < plays.length; arm++) {
                share[arm] = keep * share[arm] + (1 - keep) * (plays[arm] - seen[arm]) / steps;
                seen[arm] = plays[arm];
            }
            this.rates[i] = keep * this.rates[i] + (1 - keep) * (learner.earned - this.earned[i]) / steps;
            this.earned[i] = learner.earned;
        });
        this.time = this.game.time;
    }
}

/** What the arms pay, and where each learner plays: one strip each. Several arms share a column where there are many. */
function drawStrips(canvas, game, recent) {
    const rows = game.learners.length + 1;
    const band = 18;
    const [context, width] = contextOf(canvas, rows * band + 2);
    const { text, line, pay, policies } = colours();
    const left = width > 560 ? 130 : 92;
    const across = width - left;
    const columns = Math.min(game.arms, Math.floor(across));
    context.font = FONT;
    context.textBaseline = "middle";
    const strip = (row, values, colour, name, full) => {
        context.fillStyle = text;
        context.fillText(name, 0, row * band + band / 2, left - 6);
        context.globalAlpha = 1;
        context.fillStyle = line;
        context.fillRect(left, row * band + 2, across, band - 4);
        context.fillStyle = colour;
        for (let c = 0; c < columns; c++) {
            const from = Math.floor(c * game.arms / columns), to = Math.max(from + 1, Math.floor((c + 1) * game.arms / columns));
            let v = 0; // of arms that share a column: the best payer, or all plays together
            for (let arm = from; arm < to; arm++) v = full ? Math.max(v, values[arm]) : v + values[arm];
            if (v <= 1e-4) continue;
            context.globalAlpha = Math.min(1, full ? v : Math.sqrt(v));
            const x = left + across * c / columns;
            context.fillRect(x, row * band + 2, Math.max(1, across / columns - (across / columns > 6 ? 1 : 0)), band - 4);
        }
        context.globalAlpha = 1;
    };
    strip(0, game.means, pay, "pays now", true);
    game.learners.forEach((learner, i) => strip(i + 1, recent.shares[i], policies[learner.policy], learner.name, false));
    canvas.armAt = (x) => (x < left ? null : Math.min(game.arms - 1, Math.floor((x - left) / across * game.arms)));
}

/** The tree: for every level the probabilities of its children; the one chosen opens into the level below. */
function drawTree(canvas, learner, levels) {
    const bar = 40, gap = 18;
    const shown = levels.length ? levels : [{ n: 1, child: 0, chances: null }];
    const [context, width] = contextOf(canvas, shown.length * (bar + gap) - gap + 24);
    const { text, faint, line, policies, words } = colours();
    const colour = policies[learner.policy];
    context.font = FONT;
    context.textBaseline = "top";
    let above = null;
    shown.forEach((level, d) => {
        const top = d * (bar + gap);
        if (above) {
            context.fillStyle = colour;
            context.globalAlpha = 0.16;
            context.beginPath();
            context.moveTo(above[0], top - gap);
            context.lineTo(above[1], top - gap);
            context.lineTo(width, top);
            context.lineTo(0, top);
            context.fill();
            context.globalAlpha = 1;
        }
        context.strokeStyle = line;
        context.strokeRect(0.5, top + 0.5, width - 1, bar);
        const each = width / level.n;
        if (level.chances) {
            // The full height is 4 times an even share, or the largest share if that is more.
            const full = Math.max(Math.min(1, 4 / level.n), ...level.chances);
            for (let j = 0; j < level.n; j++) {
                const p = level.chances[j];
                if (each > 5 && j) {
                    context.fillStyle = line;
                    context.fillRect(j * each, top, 1, bar);
                }
                context.fillStyle = colour;
                context.globalAlpha = j === level.child ? 1 : 0.45;
                const tall = p > 0 ? Math.max(1.5, (bar - 2) * p / full) : 0;
                context.fillRect(j * each + (each > 4 ? 1 : 0), top + bar - tall, Math.max(1, each - (each > 4 ? 2 : 0)), tall);
                context.globalAlpha = 1;
            }
        } else if (levels.length) {
            context.fillStyle = faint;
            context.textAlign = "center";
            context.fillText(`${level.n.toLocaleString("en")} arms: too many to draw`, width / 2, top + bar / 2 - 6);
            context.fillStyle = colour;
            context.fillRect(level.child * each, top + bar - 8, Math.max(2, each), 8);
        }
        if (level.last && learner.own("PLACE") !== undefined && level.chances) {
            context.fillStyle = words.structure;
            context.textAlign = "left";
            context.fillText("★", Math.max(1, each / 2 - 6), top + 3);
        }
        above = [level.child * each, (level.child + 1) * each];
    });
    context.textAlign = "left";
    context.fillStyle = text;
    const top = shown.length * (bar + gap) - gap + 7;
    context.fillText(described(learner, levels), 0, top, width);
}

/** The choices that stand, in words. */
function described(learner, levels) {
    if (!levels.length) return "no choice yet";
    return levels.map((level) => {
        const p = level.chances ? ` (p ${level.chances[level.child].toFixed(2)})` : "";
        return level.last ? `arm ${learner.armOf(level.child)}${p}` : `group ${level.child + 1} of ${level.n}${p}`;
    }).join(" → ");
}

/** The epoch clock: one ring per level whose choices stand for more than a step; the inner ones turn faster. */
function drawClock(canvas, learner, levels) {
    const [context, width] = contextOf(canvas, 56);
    const { line, policies } = colours();
    const row = learner.row;
    const rings = levels.filter((level) => !level.last).map((level) => (level.into + 1) / level.length);
    if (!rings.length && row[L.UNTIL] > row[L.BEGAN]) {
        rings.push((row[L.TIME] - row[L.BEGAN]) / (Math.min(row[L.UNTIL], learner.game.horizon) - row[L.BEGAN]));
    }
    const shown = rings.slice(-4);
    const wide = Math.min(7, 24 / Math.max(1, shown.length));
    shown.forEach((share, i) => {
        const radius = 25 - i * (wide + 1);
        context.lineWidth = wide - 1;
        for (const [colour, part] of [[line, 1], [policies[learner.policy], Math.min(1, share)]]) {
            context.strokeStyle = colour;
            context.beginPath();
            context.arc(width / 2, 28, radius, -Math.PI / 2, -Math.PI / 2 + 2 * Math.PI * part);
            context.stroke();
        }
    });
}

/** The number of set bits. */
function ones(bits) {
    bits -= (bits >>> 1) & 0x55555555;
    bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
    return (((bits + (bits >>> 4)) & 0x0f0f0f0f) * 0x01010101) >>> 24;
}

/**
 * The row of words, a cell each. Colours tell the kinds of words. Statistics are darker the larger they are, and packed
 * ones, which are no numbers, the more bits are set.
 */
function drawWords(canvas, learner) {
    const n = learner.words;
    const size = n <= 160 ? 14 : n <= 700 ? 8 : n <= 4000 ? 4 : 2;
    const width = canvas.shownWidth ??= canvas.clientWidth;
    const across = Math.max(1, Math.floor(width / size));
    const [context] = contextOf(canvas, Math.ceil(n / across) * size);
    const { words, policies, text, line } = colours();
    const row = learner.row;
    const gap = size > 4 ? 1 : 0;
    const kinds = (learner.kinds ??= Array.from({ length: n }, (_, i) => learner.wordAt(i)[2]));
    let most = 0;
    for (let i = 0; i < n; i++) if (kinds[i] === "statistics" && Math.abs(row[i]) > most) most = Math.abs(row[i]);
    const halves = new Uint32Array(row.buffer, row.byteOffset, 2 * n);
    const strength = (i) => {
        if (kinds[i] === "coded") return 0.1 + 0.9 * (ones(halves[2 * i]) + ones(halves[2 * i + 1])) / 64;
        return kinds[i] !== "statistics" ? 1 : most ? 0.1 + 0.9 * Math.abs(row[i]) / most : 0.1;
    };
    const colourOf = (i) => words[kinds[i]] ?? policies[learner.policy];
    if (gap) {
        for (let i = 0; i < n; i++) {
            const x = (i % across) * size, y = Math.floor(i / across) * size;
            context.fillStyle = line;
            context.fillRect(x, y, size - gap, size - gap);
            context.globalAlpha = strength(i);
            context.fillStyle = colourOf(i);
            context.fillRect(x, y, size - gap, size - gap);
            context.globalAlpha = 1;
        }
    } else { // thousands of cells: a pixel each, then enlarged
        const rows = Math.ceil(n / across);
        const small = (canvas.small ??= document.createElement("canvas"));
        if (small.width !== across || small.height !== rows) [small.width, small.height] = [across, rows];
        const picture = new ImageData(across, rows), pixels = new Uint32Array(picture.data.buffer);
        const bytes = new Map();
        for (let i = 0; i < n; i++) {
            const colour = colourOf(i);
            if (!bytes.has(colour)) bytes.set(colour, parseInt(colour.slice(5, 7) + colour.slice(3, 5) + colour.slice(1, 3), 16));
            pixels[i] = (bytes.get(colour) | (Math.round(255 * strength(i)) << 24)) >>> 0;
        }
        small.getContext("2d").putImageData(picture, 0, 0);
        context.imageSmoothingEnabled = false;
        context.drawImage(small, 0, 0, across * size, rows * size);
    }
    if (canvas.cursor !== undefined) {
        context.strokeStyle = text;
        context.lineWidth = 2;
        context.strokeRect((canvas.cursor % across) * size, Math.floor(canvas.cursor / across) * size, size - gap, size - gap);
    }
    canvas.wordAt = (x, y) => {
        const i = Math.floor(y / size) * across + Math.floor(x / size);
        return x < across * size && i >= 0 && i < n ? i : undefined;
    };
    canvas.across = across;
}
