//! The choice of the reply: a matching rule, the fallback, or small talk.

use domain::RuleReplySource;

use crate::{
    pattern::Captures,
    search::{Match, Search},
    small_talk,
    template::{FilledReply, Template, Values},
};

/// Returns the reply for a finished search, and its source. If no rule matches, an agent with rules
/// uses its `fallbackReply` first; one without rules uses small talk first.
pub(crate) fn choose_reply(
    search: &Search,
    found: Option<&Match>,
) -> (RuleReplySource, FilledReply) {
    let rules = &search.rules;
    if let Some(found) = found
        && let Some(template) = rules.reply(found.index, search.request.turn_number)
    {
        let reply = fill(template, search, &found.captures);
        return (RuleReplySource::Rule, reply);
    }
    let fallback = || {
        let template = rules.fallback()?;
        let reply = fill(template, search, &Captures::new());
        Some((RuleReplySource::FallbackReply, reply))
    };
    let small_talk = || {
        let text = small_talk::reply(&search.request.agent, &search.request.message)?;
        Some((RuleReplySource::SmallTalk, FilledReply::new(&text)))
    };
    let reply = if rules.has_rules() {
        fallback().or_else(small_talk)
    } else {
        small_talk().or_else(fallback)
    };
    reply.unwrap_or_else(|| {
        let text = small_talk::default_reply(&search.request.agent);
        (RuleReplySource::Default, FilledReply::new(&text))
    })
}

fn fill(template: &Template, search: &Search, captures: &Captures) -> FilledReply {
    let request = &search.request;
    template.fill(&Values {
        agent: &request.agent,
        message: &request.message,
        user_id: request.user_id.as_deref(),
        captures,
    })
}
