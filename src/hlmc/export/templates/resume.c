/* The words of the learner that was exported. */
static const uint${word_bits}_t ${name}_saved[${NAME}_WORDS] = {
$bits
};

void ${name}_resume(${name}_learner *learner)
{
    memcpy(learner, ${name}_saved, sizeof *learner);
}
