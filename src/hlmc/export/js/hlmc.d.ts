/** What `hlmc export js` writes to program.json: a policy as numbers. */
export interface Program {
    format: "hlmc-program-1";
    /** The policy as Python prints it. */
    policy: string;
    arms: number;
    /** The most steps of a learner, or null if there is no limit. */
    horizon: number | null;
    /** 64-bit words of a learner. */
    words: number;
    program: number[];
    /** The key of the random stream, as a number in hexadecimal. */
    key: string;
    /** The decisions that can await their rewards, if the policy has a window; and what a missing reward counts as. */
    pending?: number;
    missing?: number | "skip";
    /** The bytes of a learner's state, if one was exported. */
    state?: number[];
}

export interface Options {
    /** 64 bits that decide all chance. Default: the program's. */
    key?: bigint;
    /** A state to go on from. */
    state?: ArrayBuffer | Uint8Array;
    /** Three words, the last not 0, by which a learner knows its own tickets. Default: random. */
    identity?: BigUint64Array | bigint[];
    /** The module, if it does not lie beside hlmc.js. */
    wasm?: BufferSource | WebAssembly.Module;
}

/** What a decision remembers until its reward comes. Its bytes are those of Python's bytes(ticket). */
export class Ticket {
    constructor(bytes: ArrayLike<number>);
    readonly bytes: Uint8Array;
    readonly arm: number;
    /** The decisions before this one. */
    readonly time: number;
    /** The probability of the arm, given everything before it. */
    readonly probability: number;
    /** What a log is weighed by: the probability of the arm, given what was known at the first step of the block. */
    readonly propensity: number;
    /** The step at which the top level chose last. */
    readonly block: number;
}

export interface Learner {
    readonly policy: string;
    readonly arms: number;
    readonly words: number;
    /** The number of completed steps. */
    readonly time: number;
    /** The probability of the last selection, given everything before it. */
    readonly probability: number;
    /** A copy of the row: 8 * words bytes, little-endian, the state of the same learner in Python. */
    readonly state: Uint8Array;
    /** The arm to play now, 0 to arms - 1. */
    select(): number;
    /** Learn the reward of the arm selected. */
    update(reward: number): void;
    /** Make a decision whose reward may come late, out of order or never. Needs a policy with pending=W. */
    ask(): Ticket;
    /** Learn the reward of a ticket, or of its bytes. */
    tell(ticket: Ticket | Uint8Array, reward: number): "applied" | "late" | "duplicate" | "expired";
    /** Say that the reward of a ticket will not come. */
    drop(ticket: Ticket | Uint8Array): "applied" | "late" | "duplicate" | "expired";
    /** Go on from a state of a learner of the same policy. */
    restore(state: ArrayBuffer | Uint8Array): void;
}

/** A learner of a program. */
export function load(program: Program, options?: Options): Promise<Learner>;

/** Three random words: what a learner with pending=W lives as. */
export function randomIdentity(): BigUint64Array;

/** 64 random bits, for a learner that draws independently of all others. */
export function randomKey(): bigint;
