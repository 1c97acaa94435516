// hlmc in a browser or in Node: a learner in WebAssembly, with the row of words that Python has.
//
//     import { load } from "./hlmc.js";
//     const learner = await load(await (await fetch("program.json")).json());
//     const arm = learner.select();
//     learner.update(reward);                    // in [0, 1], or in the range that the policy was given
//
// program.json is what `hlmc export js` writes: the policy as numbers. One module plays every policy.

const ERRORS = {
    "-1": "the horizon has been reached; start a new learner",
    "-2": "update needs a selection first: call select() once before each update()",
    "-3": "reward is not a number in the range of the policy",
    "-4": "an arm is selected: call update() before ask()",
    "-5": "the ticket is damaged, forged, or one of another learner or copy",
};
const TIME = 1, PROBABILITY = 3; // words of a row
const LEVELS = 3, ZERO = 16; // words of a program
const IDENTITY = 3; // words of an identity
const CODES = ["applied", "late", "duplicate", "expired"];

let compiled = null;

/** The module, compiled once. It lies beside this file, or is given as bytes or as a WebAssembly.Module. */
async function moduleOf(wasm) {
    if (wasm instanceof WebAssembly.Module) return wasm;
    if (wasm) return WebAssembly.compile(wasm);
    if (!compiled) {
        const place = new URL("hlmc.wasm", import.meta.url);
        compiled = place.protocol === "file:"
            ? import("node:fs/promises").then((fs) => fs.readFile(place)).then((bytes) => WebAssembly.compile(bytes))
            : fetch(place).then((answer) => answer.arrayBuffer()).then((bytes) => WebAssembly.compile(bytes));
    }
    return compiled;
}

/** 64 random bits: the key of a learner that draws independently of all others. */
export function randomKey() {
    return globalThis.crypto.getRandomValues(new BigUint64Array(1))[0];
}

/** Three random words: what a learner lives as. Its tickets are its own, and not those of copies of its state. */
export function randomIdentity() {
    const words = globalThis.crypto.getRandomValues(new BigUint64Array(IDENTITY));
    words[IDENTITY - 1] |= 1n;
    return words;
}

/**
 * A learner of a program. Options: key (a BigInt; default: the program's), state (a saved row), identity (three BigInts,
 * the last not 0; default: random), wasm (the module).
 */
export async function load(program, options = {}) {
    if (!program || program.format !== "hlmc-program-1" || !Array.isArray(program.program)) {
        throw new TypeError("program must be what `hlmc export js` writes");
    }
    const instance = await WebAssembly.instantiate(await moduleOf(options.wasm));
    const learner = new Learner(program, instance.exports, options.key ?? BigInt(program.key), options.identity);
    const state = options.state ?? (program.state && Uint8Array.from(program.state));
    if (state) learner.restore(state);
    return learner;
}

/** What a decision remembers until its reward comes. Its bytes are those of Python's bytes(ticket). */
export class Ticket {
    #words;

    constructor(bytes) {
        this.bytes = Uint8Array.from(bytes);
        this.#words = new DataView(this.bytes.buffer);
    }

    /** The arm to play. */
    get arm() {
        return Number(this.#words.getBigUint64(24, true));
    }

    /** The decisions before this one. */
    get time() {
        return Number(this.#words.getBigUint64(16, true));
    }

    /** The probability of the arm, given everything before it. */
    get probability() {
        return this.#words.getFloat64(32, true);
    }

    /** What a log is weighed by: the probability of the arm, given what was known at the first step of the block. */
    get propensity() {
        return this.#words.getFloat64(40, true);
    }

    /** The step at which the top level chose last. */
    get block() {
        return Number(this.#words.getBigUint64(48, true));
    }
}

class Learner {
    #exports;
    #program;
    #row;
    #ticket; // where the words of a ticket lie
    #size; // and its bytes
    #identity; // where the words of the identity lie
    #given; // those that the caller gave
    #missing;

    constructor(program, exports, key, identity) {
        const { memory, __heap_base: base } = exports;
        const first = 8 * Math.ceil(base.value / 8);
        const numbers = program.program.length;
        const size = program.pending ? 8 * (7 + 2 * program.program[LEVELS]) : 0;
        if (identity && (identity.length !== IDENTITY || BigInt.asUintN(64, identity[IDENTITY - 1]) === 0n)) {
            throw new RangeError("identity must be three BigInts, the last not 0");
        }
        const lacking = first + 8 * (numbers + program.words + IDENTITY) + size - memory.buffer.byteLength;
        if (lacking > 0) memory.grow(Math.ceil(lacking / 65536));
        new Float64Array(memory.buffer, first, numbers).set(program.program);
        this.policy = program.policy;
        this.arms = program.arms;
        this.words = program.words;
        this.#exports = exports;
        this.#program = first;
        this.#row = first + 8 * numbers;
        this.#ticket = this.#row + 8 * program.words;
        this.#size = size;
        this.#identity = this.#ticket + size;
        this.#given = identity;
        this.#missing = program.missing;
        this.#live();
        exports.hlmc_start(this.#row, program.words, BigInt.asUintN(64, key));
    }

    /** The arm to play now. Asked again before update, the answer is the same. */
    select() {
        const arm = this.#exports.hlmc_select(this.#program, this.#row);
        if (arm < 0) throw new Error(ERRORS[arm]);
        return arm;
    }

    /** Learn the reward of the arm selected. */
    update(reward) {
        if (typeof reward !== "number") throw new TypeError("reward must be a number");
        const status = this.#exports.hlmc_update(this.#program, this.#row, reward);
        if (status < 0) throw status === -3 ? new RangeError(ERRORS[status]) : new Error(ERRORS[status]);
    }

    /** Make a decision whose reward may come late, out of order or never: its ticket. Needs a policy with pending. */
    ask() {
        this.#needsWindow();
        const arm = this.#exports.hlmc_ask(this.#program, this.#row, this.#identity, this.#ticket);
        if (arm < 0) throw new Error(ERRORS[arm]);
        return new Ticket(new Uint8Array(this.#exports.memory.buffer, this.#ticket, this.#size));
    }

    /** Learn the reward of a ticket, or of its bytes: "applied", "late", "duplicate" or "expired". */
    tell(ticket, reward) {
        if (typeof reward !== "number") throw new TypeError("reward must be a number");
        return this.#settle(ticket, reward, 1);
    }

    /** Say that the reward of a ticket will not come. What that counts as is the policy's `missing`. */
    drop(ticket) {
        // What is not learned from is in every range: the end of it that counts as 0.
        const skips = typeof this.#missing !== "number";
        return this.#settle(ticket, skips ? this.#zero() : this.#missing, skips ? 0 : 1);
    }

    /** The number of completed steps. */
    get time() {
        return this.#view()[TIME];
    }

    /** The probability of the last selection, given everything before it. */
    get probability() {
        return this.#view()[PROBABILITY];
    }

    /** A learner's entire state: a copy of its row, little-endian, as Learner(policy, row) takes it in Python. */
    get state() {
        return new Uint8Array(this.#exports.memory.buffer, this.#row, 8 * this.words).slice();
    }

    /** Go on from a state of a learner of the same policy. One that no such learner can have is refused. */
    restore(state) {
        if (!(state instanceof ArrayBuffer || ArrayBuffer.isView(state))) {
            throw new TypeError("a state must be an ArrayBuffer or an array of bytes");
        }
        if (state.byteLength !== 8 * this.words) throw new RangeError(`a state has ${8 * this.words} bytes`);
        const row = new Uint8Array(this.#exports.memory.buffer, this.#row, state.byteLength);
        const before = row.slice();
        row.set(new Uint8Array(state.buffer ?? state, state.byteOffset ?? 0, state.byteLength));
        if (!this.#exports.hlmc_admits(this.#program, this.#row)) {
            row.set(before);
            throw new RangeError("the state is damaged, or that of a learner of another policy");
        }
        this.#live();
    }

    /** Begin another life: tickets that are made from now on are good for this learner alone. */
    #live() {
        const words = this.#given ?? (this.#size ? randomIdentity() : []);
        new BigUint64Array(this.#exports.memory.buffer, this.#identity, IDENTITY).set(words);
    }

    #needsWindow() {
        if (!this.#size) throw new Error("the policy has no window: give it pending=W");
    }

    #zero() {
        return new Float64Array(this.#exports.memory.buffer, this.#program, ZERO + 1)[ZERO];
    }

    #settle(ticket, reward, learns) {
        this.#needsWindow();
        const bytes = ticket instanceof Ticket ? ticket.bytes : Uint8Array.from(ticket);
        if (bytes.length !== this.#size) throw new Error(ERRORS[-5]);
        new Uint8Array(this.#exports.memory.buffer, this.#ticket, this.#size).set(bytes);
        const code = this.#exports.hlmc_tell(this.#program, this.#row, this.#ticket, reward, learns);
        if (code < 0) throw code === -3 ? new RangeError(ERRORS[code]) : new Error(ERRORS[code]);
        return CODES[code];
    }

    #view() {
        return new Float64Array(this.#exports.memory.buffer, this.#row, this.words);
    }
}
