/* A radio with twenty channels and ten words of statistics. A jammer blocks all channels but one, and moves every
 * 50,000 slots. The radio learns which channel is clear; at the end it says how often it sent there.
 */
#include <stdint.h>

#include "radio.h"

extern uint32_t bss_end, stack_top;
void say(const char *text);

enum { SLOTS = 200000, STAY = 50000, PAINT = 0x5A5A5A5A };

static radio_learner learner; /* all the RAM that the learner needs */

static void say_number(const char *text, uint32_t number)
{
    char digits[12];
    int at = 11;
    digits[at] = '\0';
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    say(text);
    say(&digits[at]);
    say("\n");
}

/* Bytes of stack that were ever used: what is left of the paint tells. */
static uint32_t stack_used(void)
{
    const uint32_t *word = &bss_end;
    while (*word == PAINT) {
        word++;
    }
    return (uint32_t)((const char *)&stack_top - (const char *)word);
}

int main(void)
{
    volatile uint32_t *const limit = (uint32_t *)__builtin_frame_address(0) - 64;
    for (volatile uint32_t *word = &bss_end; word < limit; word++) {
        *word = PAINT;
    }
    radio_start(&learner, UINT64_C(0x123456789abcdef));
    uint32_t clear_slots = 0, last = 0;
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        const int32_t clear = (int32_t)((7 + 5 * (slot / STAY)) % RADIO_ARMS);
        const int32_t channel = radio_select(&learner);
        if (channel < 0 || radio_update(&learner, channel == clear ? 1.0 : 0.0) != 0) {
            return 1;
        }
        clear_slots += channel == clear;
        last += channel == clear && slot % STAY >= STAY - STAY / 5;
    }
    say_number("slots: ", SLOTS);
    say_number("on the clear channel: ", clear_slots);
    say_number("in the last fifth before each move, in per cent: ", last / (SLOTS / 500));
    say_number("bytes of RAM of the learner: ", (uint32_t)sizeof learner);
    say_number("bytes of stack, with main: ", stack_used());
    return clear_slots > SLOTS / RADIO_ARMS ? 0 : 1;
}
