// The story: five steps, each a game whose settings show one thing, and something for the reader to do.
"use strict";

const STORY = [
    {
        title: "One arm at a time",
        text: "A bandit chooses one of K arms again and again, and sees only what that arm pays. Here you decide which arm pays. "
            + "Two policies with memory for all arms play; the lines on an arm show which of them play it.",
        todo: "Press Play, then press arm 10 and press arm 0 again, so that arm 10 pays and arm 0 does not. Which policy follows?",
        preset: { arms: 16, memory: 8, horizon: 1e5, adversary: "You", policies: ["UCB1", "Tsallis-INF"], speed: 3 },
    },
    {
        title: "Groups",
        text: "With one number per arm, memory grows with K. HLMC has 20 numbers for 100 arms: ten for ten groups, and ten for the arms "
            + "of the group that it plays. The upper bars are the groups; the chosen one expands into its arms below.",
        todo: "Press One step a few times and watch where the darker bars move.",
        preset: { arms: 100, memory: 20, horizon: 1e6, adversary: "Needle", policies: ["HLMC"], speed: 1 },
    },
    {
        title: "The epoch forgets",
        text: "A group is played for an epoch, which the ring counts. When it closes, the groups learn the epoch's mean reward, and the "
            + "numbers of the arms are used for the next group: what was known about the arms is lost.",
        todo: "Watch the lower bars at the moment the ring closes, then move the speed up.",
        preset: { arms: 100, memory: 20, horizon: 1e6, adversary: "Needle", policies: ["HLMC"], speed: 3 },
    },
    {
        title: "The trap",
        text: "UCB-M is simpler: it holds 20 arms at a time, two numbers for each, and keeps the best when it moves on. But an adversary that "
            + "knows its order pays only in the block that comes next. HLMC's choices are random, so it cannot be trapped: this is its theorem.",
        todo: "Compare the rewards in the table. Then open the settings and choose UCB-M, which shuffles its arms.",
        preset: { arms: 100, memory: 20, horizon: 1e6, adversary: "BlockTrap", policies: ["HLMC", "UCB-M in order"], speed: 4 },
    },
    {
        title: "The champion",
        text: "HLMC is safe but slow, because it forgets. Champion keeps one more thing: the best arm so far, which plays in every group and "
            + "is challenged from time to time. In the same 20 numbers it does nearly as well as Tsallis-INF does with 100.",
        todo: "Wait for the star to find the arm that pays, and compare the rewards. Then close the story and try other settings.",
        preset: { arms: 100, memory: 20, horizon: 1e6, adversary: "Needle", policies: ["HLMC", "Champion", "Tsallis-INF"], speed: 5 },
    },
];

/** Show a step of the story and set its game up; `begin` plays it at once. */
function tell(number, begin) {
    const { title, text, todo, preset } = STORY[number];
    $("story").hidden = false; // the style sheet makes room for it
    $("tour").hidden = true;
    $("story").dataset.step = number;
    $("storytitle").textContent = `${number + 1} of ${STORY.length}: ${title}`;
    $("storytext").textContent = text;
    $("todo").textContent = todo;
    $("more").open = false; // the curve and the learners are to be seen beside the story
    $("back").disabled = number === 0;
    $("next").textContent = number === STORY.length - 1 ? "Close" : "Next";
    // In one plot of regret HLMC's line would flatten the others.
    $("quantity").value = number === STORY.length - 1 ? "reward" : "regret";
    $("quantity").dispatchEvent(new Event("change"));
    reset(settingsOf(preset));
    $("story").hidden = false;
    if (begin) play();
}

/** The reader goes a way of their own. */
function leaveStory() {
    $("story").hidden = true;
    $("tour").hidden = false;
    $("more").open = innerWidth > 560;
}

function buildStory() {
    const here = () => Number($("story").dataset.step ?? 0);
    $("tour").addEventListener("click", () => tell(here(), false));
    $("back").addEventListener("click", () => tell(here() - 1, false));
    $("next").addEventListener("click", () => {
        if (here() === STORY.length - 1) leaveStory();
        else tell(here() + 1, here() > 1);
    });
}
