
int32_t ${name}_ask(${name}_learner *learner, ${name}_ticket *ticket)
{
    return (int32_t)$ask(learner->words, 0, ticket->words);
}

int32_t ${name}_tell(${name}_learner *learner, const ${name}_ticket *ticket, double reward)
{
    return (int32_t)$tell(learner->words, ticket->words, $share, 1);
}

int32_t ${name}_drop(${name}_learner *learner, const ${name}_ticket *ticket)
{
    return $drop;
}
