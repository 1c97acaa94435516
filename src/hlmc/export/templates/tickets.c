
int32_t ${name}_ask(${name}_learner *learner, const ${name}_identity *identity, ${name}_ticket *ticket)
{
    double words[3];
    memcpy(words, identity->words, sizeof words);
    return (int32_t)$ask(learner->words, 0, words, ticket->words);
}

int32_t ${name}_tell(${name}_learner *learner, const ${name}_ticket *ticket, double reward)
{
    return (int32_t)$tell(learner->words, ticket->words, $share, 1);
}

int32_t ${name}_drop(${name}_learner *learner, const ${name}_ticket *ticket)
{
    return $drop;
}
