// Games in WebAssembly: learners that play against one adversary in step, and the judge beside them.
//
// DATA and MODULE come from data.js (scripts/playground.py): the programs of all policies, the numbers of all
// adversaries, and the module, which is the simulator's own loop. Nothing of a policy is known here but its program.
"use strict";

const COMPILED = new WebAssembly.Module(Uint8Array.from(atob(MODULE), (c) => c.charCodeAt(0)));
const L = DATA.layout;
const POINTS = 800; // the most points of a curve
const SLICE = 1.5; // milliseconds after which the clock is looked at

/** The place of (K, M, T) in the lists of programs. */
function choiceOf({ arms, memory, horizon }) {
    const at = [DATA.arms.indexOf(arms), DATA.memory.indexOf(memory), DATA.horizon.indexOf(horizon)];
    if (at.includes(-1)) throw new RangeError("arms, memory and horizon must be among those of the page");
    return (at[0] * DATA.memory.length + at[1]) * DATA.horizon.length + at[2];
}

/** The program of a policy (its number) for some settings, or a string that says why there is none. */
function programOf(policy, settings) {
    const entry = DATA.policies[policy].programs[choiceOf(settings)];
    return typeof entry === "string" ? entry : DATA.pool[entry];
}

/** The numbers of the adversary as bytes, and the call that makes it in Python; for "You", no bytes. */
function adversaryOf(settings) {
    const entry = DATA.adversaries[settings.adversary].specs[choiceOf(settings) * DATA.seeds + settings.seed];
    if (!entry) return { bytes: null, call: null };
    return { bytes: Uint8Array.from(atob(DATA.specs[entry[0]]), (c) => c.charCodeAt(0)), call: DATA.calls[entry[1]] };
}

/** One learner: where its program and its row lie in the module's memory, and what it has earned. */
class Learner {
    constructor(game, policy, program) {
        this.game = game;
        this.policy = policy;
        this.name = DATA.policies[policy].name;
        this.program = program;
        this.words = program.words;
        this.programAt = game.room(program.length);
        this.rowAt = game.room(program.words);
        this.scratchAt = game.room(program.words);
        this.notesAt = game.room(game.arms + 8);
        this.playsAt = game.room(game.arms);
        this.sumsAt = game.room(2);
        this.earned = 0;
        this.spent = 0; // milliseconds
        this.table = new Float64Array(program.length);
        program.at.forEach((at, i) => { this.table[at] = program.numbers[i]; });
        this.levels = this.table[L.LEVELS];
        this.structure = DATA.structures[this.table[L.STRUCTURE]];
    }

    begin(seed) {
        this.game.run(this.programAt, this.table.length).set(this.table);
        const key = BigInt("0x" + DATA.policies[this.policy].keys[seed]);
        this.game.module.play_start(8 * this.rowAt, this.words, key);
    }

    /** Play until a time. */
    playTo(time) {
        const { game } = this;
        game.numbers[game.stopsAt] = time;
        const before = performance.now();
        const places = [this.programAt, this.rowAt, this.notesAt, this.playsAt, game.specAt, game.stopsAt, this.sumsAt];
        if (game.module.play_run(...places.map((at) => 8 * at), 1) < 0) throw new Error(`${this.name} was paid badly`);
        this.spent += performance.now() - before;
        this.earned = game.numbers[this.sumsAt];
    }

    /** All that it knows: its row. */
    get row() { return this.game.run(this.rowAt, this.words); }

    /** How often each arm has been played. */
    get plays() { return this.game.run(this.playsAt, this.game.arms); }

    /** The name, the meaning and the kind of a word of the row. */
    wordAt(index) {
        if (index < L.COMMON) return [...DATA.row[index], "common"];
        const own = this.structure.header;
        if (index < L.COMMON + own.length) return [...own[index - L.COMMON], "structure"];
        for (let d = this.levels - 1; d >= 0; d--) {
            const record = L.FIELDS * (1 + d);
            const at = this.table[record + L.AT];
            const coded = this.table[record + L.WIDTH];
            if (index < at) continue;
            if (coded) return [`level ${d + 1}, packed word ${index - at}`, `statistics of ${coded} bits`, "coded"];
            return [`level ${d + 1}, statistic ${index - at}`, "", "statistics"];
        }
        for (let d = this.levels - 1; d >= 0; d--) {
            const control = this.table[L.FIELDS * (1 + d) + L.CONTROL];
            if (index < control || index - control >= DATA.control.length) continue;
            const [name, meaning] = DATA.control[index - control];
            return [`level ${d + 1}, ${name}`, meaning, "control"];
        }
        return ["", "", "control"];
    }

    /** A word of the structure by its name, or undefined. */
    own(name) {
        const place = this.structure.header.findIndex((word) => word[0] === name);
        return place < 0 ? undefined : this.row[L.COMMON + place];
    }

    /** The arm of a slot of the last level. */
    armOf(slot) { return this.game.module.play_arm(8 * this.programAt, 8 * this.rowAt, slot); }

    /**
     * Every level: its number of children, the one chosen, and the probability of each as its routine gives it now.
     * The routine itself is asked, on a copy of the row, with random numbers spread evenly over [0, 1).
     * A level of more than `most` children has no probabilities.
     */
    tree(most = 200) {
        const row = this.row;
        const time = row[L.TIME];
        if (row[L.RECORD] === 0) return [];
        const first = row[L.RECORD] - L.FIELDS * (this.levels - 1);
        const found = [];
        let count = this.game.arms;
        let into = Math.max(0, time - 1); // the step that was last taken, from the choice above on
        for (let d = 0; d < this.levels; d++) {
            const record = first + L.FIELDS * d;
            const control = this.table[record + L.CONTROL];
            const last = d === this.levels - 1;
            const size = this.table[record + L.SIZE];
            const length = this.table[record + L.LENGTH];
            const groups = Math.ceil(count / size);
            let n, tau;
            if (last) {
                n = row[L.COUNT];
                tau = time - row[L.BEGAN];
            } else {
                n = groups;
                tau = Math.floor(into / length);
                into -= tau * length;
                if (d === this.levels - 2 && this.own("TURN") !== undefined) tau = Math.max(0, tau - this.own("TURN"));
            }
            const child = n > 1 ? row[control + L.CHILD] : 0;
            const chances = n > most ? null : this.probed(d, n, tau, control);
            found.push({ n, child, chances, last, length, into: last ? tau : into });
            count = child >= groups ? 1 : Math.min(size, count - child * size);
        }
        return found;
    }

    probed(d, n, tau, control) {
        const chances = new Float64Array(n);
        if (n === 1) return chances.fill(1);
        const { game } = this;
        const scratch = game.run(this.scratchAt, this.words);
        scratch.set(this.row);
        const draws = Math.max(64, Math.min(256, 8 * n));
        for (let i = 0; i < draws; i++) {
            game.module.play_probe(8 * this.programAt, 8 * this.scratchAt, d, n, tau, (i + 0.5) / draws);
            chances[scratch[control + L.CHILD]] = Math.min(1, scratch[control + L.CHANCE]);
        }
        return chances;
    }
}

/**
 * A game: settings = { arms, memory, horizon, adversary (its number), seed, policies (their numbers) }.
 * Curves have a point at every multiple of `stride` steps; it doubles when there are too many.
 */
class Game {
    constructor(settings) {
        this.settings = settings;
        this.arms = settings.arms;
        this.horizon = settings.horizon;
        this.module = new WebAssembly.Instance(COMPILED).exports;
        this.free = Math.ceil(this.module.__heap_base.value / 8);
        this.refused = [];
        this.learners = [];
        const { bytes, call } = adversaryOf(settings);
        this.yours = bytes === null;
        this.call = call;
        this.specAt = this.room(bytes ? bytes.length / 8 : 2 + this.arms);
        this.judgedAt = this.room(this.arms);
        this.meansAt = this.room(this.arms);
        this.stopsAt = this.room(1);
        for (const policy of settings.policies) {
            const program = programOf(policy, settings);
            if (typeof program === "string") this.refused.push([DATA.policies[policy].name, program]);
            else this.learners.push(new Learner(this, policy, program));
        }
        const missing = 8 * this.free - this.module.memory.buffer.byteLength;
        if (missing > 0) this.module.memory.grow(Math.ceil(missing / 65536));
        this.numbers = new Float64Array(this.module.memory.buffer);
        this.view = new Uint8Array(this.module.memory.buffer);
        if (bytes) this.view.set(bytes, 8 * this.specAt);
        for (const learner of this.learners) learner.begin(settings.seed);
        this.time = 0;
        this.judgedTo = 0;
        this.best = 0;
        this.stride = 1;
        this.points = [{ time: 0, best: 0, earned: this.learners.map(() => 0) }];
    }

    /** Words of memory. */
    room(words) {
        const at = this.free;
        this.free += words;
        return at;
    }

    run(at, words) { return this.numbers.subarray(at, at + words); }

    /** What each arm pays if you are the adversary; a view to write to by way of pay(). */
    get paying() { return this.run(this.specAt + 2, this.arms); }

    /** Let an arm pay from now on. */
    pay(arm, reward) {
        this.judge();
        this.paying[arm] = reward;
    }

    /** What each arm is expected to pay now. */
    get means() {
        this.module.play_means(8 * this.specAt, 8 * this.meansAt, this.arms, Math.min(this.time, this.horizon - 1));
        return this.run(this.meansAt, this.arms);
    }

    /** The expected reward until now of the best single arm. */
    judge() {
        if (this.judgedTo < this.time) {
            const arguments_ = [8 * this.specAt, 8 * this.judgedAt, this.arms, this.judgedTo, this.time];
            this.best = this.module.play_judge(...arguments_);
            this.judgedTo = this.time;
        }
        return this.best;
    }

    /** What the best single arm has more than a learner. */
    regret(learner) { return this.judge() - learner.earned; }

    get over() { return this.time >= this.horizon; }

    /** Play until a time, or for so many milliseconds if that is less. */
    advance(until, budget = Infinity) {
        const start = performance.now();
        const last = Math.min(until, this.horizon);
        while (this.time < last) {
            const next = (Math.floor(this.time / this.stride) + 1) * this.stride;
            const target = Math.min(last, next, this.time + this.slice());
            for (const learner of this.learners) learner.playTo(target);
            this.time = target;
            if (target === next || target === this.horizon) this.note();
            if (performance.now() - start >= budget) break;
        }
    }

    /** Steps that all learners take in about SLICE milliseconds. */
    slice() {
        const spent = this.learners.reduce((sum, learner) => sum + learner.spent, 0);
        return spent > 1 ? Math.max(1, Math.floor(SLICE * this.time / spent)) : 1000;
    }

    /** A point of the curves. */
    note() {
        const point = { time: this.time, best: this.judge(), earned: this.learners.map((learner) => learner.earned) };
        this.points.push(point);
        if (this.points.length > POINTS) {
            this.stride *= 2;
            this.points = this.points.filter((each) => each.time % this.stride === 0);
        }
    }
}
