//! The compilation of an agent's rules.

use std::{cmp::Reverse, mem, sync::Arc, task::Poll};

use cpu_pool::TimeSlice;
use domain::{
    Agent, FaultCode, InputFault, Rule,
    fault::{push_index, push_token},
};
use parking_lot::Mutex;

use super::{CompiledRule, CompiledRules, MAX_SPARE_MEMORY, Matcher};
use crate::{
    call::{self, CallTemplate},
    keywords::Keyword,
    pattern::Pattern,
    template::{KnownCaptures, Placeholders, Template, contains_capture},
};

const UNKNOWN_PLACEHOLDER: &str = "contains an unknown placeholder; use {{agent.name}}, \
    {{agent.personality}}, {{message}}, {{user.id}}, with a pattern {{capture.…}} with the number or \
    name of one of its groups, and in replies beside a call {{result}}";
const UNKNOWN_PLACEHOLDER_WITHOUT_RULE: &str = "contains an unknown placeholder; use \
    {{agent.name}}, {{agent.personality}}, {{message}} and {{user.id}}";

/// The compilation of an agent's rules, which can pause between two rules.
#[derive(Debug)]
pub(crate) struct Compilation {
    agent: Arc<Agent>,
    next: usize,
    active: Vec<(i32, CompiledRule)>,
    faults: Vec<InputFault>,
    bytes: usize,
}

impl Compilation {
    pub(crate) fn new(agent: Arc<Agent>) -> Self {
        Self {
            agent,
            next: 0,
            active: Vec::new(),
            faults: Vec::new(),
            bytes: size_of::<CompiledRules>(),
        }
    }

    /// Continues until it is done or the slice is over; compiles at least one rule. Rules that are
    /// inactive because the agent lacks their capability are compiled, too, so that all faults are
    /// found at once. Pointers are relative to the agent.
    pub(crate) fn advance(
        &mut self,
        slice: TimeSlice,
    ) -> Poll<Result<CompiledRules, Vec<InputFault>>> {
        let agent = Arc::clone(&self.agent);
        let rules = agent.config.rules.as_deref().unwrap_or_default();
        while let Some(rule) = rules.get(self.next) {
            self.add(rule);
            if self.bytes > CompiledRules::MAX_BYTES {
                self.faults.push(too_large());
                break;
            }
            self.next += 1;
            if self.next < rules.len() && slice.is_over() {
                return Poll::Pending;
            }
        }
        Poll::Ready(self.finish())
    }

    fn add(&mut self, rule: &Rule) {
        match CompiledRule::compile(self.next, rule) {
            Ok(compiled) => {
                self.bytes += compiled.bytes();
                if is_active(rule, &self.agent) {
                    self.active.push((rule.priority.unwrap_or(0), compiled));
                }
            }
            Err(found) => {
                let mut prefix = String::from("/config/rules");
                push_index(&mut prefix, self.next);
                let found = found.into_iter().map(|fault| fault.below(&prefix));
                self.faults.extend(found);
            }
        }
    }

    fn finish(&mut self) -> Result<CompiledRules, Vec<InputFault>> {
        let fallback = compile_fallback(&self.agent, &mut self.faults);
        if !self.faults.is_empty() {
            return Err(mem::take(&mut self.faults));
        }
        let mut active = mem::take(&mut self.active);
        // A stable sort keeps the order of rules with equal priorities.
        active.sort_by_key(|&(priority, _)| Reverse(priority));
        Ok(CompiledRules {
            rules: active.into_iter().map(|(_, rule)| rule).collect(),
            has_rules: self.next > 0,
            bytes: self.bytes + fallback.as_ref().map_or(0, Template::bytes),
            fallback,
            spare_memory: Mutex::default(),
        })
    }
}

impl CompiledRule {
    fn compile(index: usize, rule: &Rule) -> Result<Self, Vec<InputFault>> {
        let mut faults = rule.check();
        if !faults.is_empty() {
            return Err(faults);
        }
        let matcher = Matcher::compile(rule, &mut faults);
        let captures = match &matcher {
            None => KnownCaptures::Any,
            Some(Matcher::Pattern(pattern)) => KnownCaptures::Of(pattern),
            Some(Matcher::Keywords(_)) => KnownCaptures::None,
        };
        let mut unknown = Vec::new();
        let replies = compile_replies(rule, captures, &mut unknown);
        let known = Placeholders {
            captures,
            has_result: false,
        };
        let call = rule.tool_call();
        let call = call.map(|call| CallTemplate::parse(&call, known, &mut unknown).into());
        let unknown = unknown.into_iter();
        faults.extend(
            unknown.map(|pointer| {
                InputFault::new(pointer, FaultCode::UnknownValue, UNKNOWN_PLACEHOLDER)
            }),
        );
        match matcher {
            Some(matcher) if faults.is_empty() => Ok(Self {
                index,
                matcher,
                replies,
                call,
            }),
            _ => Err(faults),
        }
    }

    fn bytes(&self) -> usize {
        let matcher = match &self.matcher {
            Matcher::Pattern(pattern) => {
                pattern.compiled_bytes() + MAX_SPARE_MEMORY * pattern.kept_bytes()
            }
            Matcher::Keywords(keywords) => keywords.iter().map(Keyword::bytes).sum(),
        };
        let replies = self.replies.iter();
        let call = self.call.as_ref().map_or(0, |call| call.bytes());
        size_of::<Self>() + matcher + replies.map(Template::bytes).sum::<usize>() + call
    }
}

impl Matcher {
    fn compile(rule: &Rule, faults: &mut Vec<InputFault>) -> Option<Self> {
        if let Some(source) = &rule.pattern {
            let keeps_captures = rule.answers().iter().any(|text| contains_capture(text))
                || rule
                    .call
                    .as_ref()
                    .is_some_and(|it| call::any_text(it, &contains_capture));
            let compiled = Pattern::compile(source, keeps_captures);
            return compiled
                .map_err(|reason| {
                    faults.push(InputFault::new("/pattern", FaultCode::BadFormat, reason));
                })
                .ok()
                .map(|pattern| Self::Pattern(Box::new(pattern)));
        }
        let sources = rule.keywords.as_deref().unwrap_or_default();
        let mut keywords = Vec::with_capacity(sources.len());
        for (index, source) in sources.iter().enumerate() {
            if let Some(keyword) = Keyword::parse(source) {
                keywords.push(keyword);
            } else {
                let mut pointer = String::from("/keywords");
                push_index(&mut pointer, index);
                let detail = "is blank";
                faults.push(InputFault::new(pointer, FaultCode::BadFormat, detail));
            }
        }
        if sources.is_empty() {
            let detail = "at least 1 keyword";
            faults.push(InputFault::new("/keywords", FaultCode::TooShort, detail));
        }
        (!keywords.is_empty()).then(|| Self::Keywords(keywords.into_boxed_slice()))
    }
}

/// Returns whether the agent has the capability that the rule requires.
fn is_active(rule: &Rule, agent: &Agent) -> bool {
    rule.capability.as_ref().is_none_or(|required| {
        let mut capabilities = agent.capabilities.iter();
        capabilities.any(|capability| capability.trim() == required.trim())
    })
}

/// Compiles the replies of a rule. Adds the pointers of those with unknown placeholders to `unknown`.
fn compile_replies(
    rule: &Rule,
    captures: KnownCaptures<'_>,
    unknown: &mut Vec<String>,
) -> Box<[Template]> {
    let known = Placeholders {
        captures,
        has_result: rule.tool_call().is_some(),
    };
    let compile = |(index, source): (usize, &String)| {
        let template = Template::parse(source, known);
        if template.is_err() {
            unknown.push(reply_pointer(rule, index));
        }
        template.ok()
    };
    rule.answers()
        .iter()
        .enumerate()
        .filter_map(compile)
        .collect()
}

fn compile_fallback(agent: &Agent, faults: &mut Vec<InputFault>) -> Option<Template> {
    let source = agent.config.fallback_reply.as_deref()?;
    let known = Placeholders {
        captures: KnownCaptures::None,
        has_result: false,
    };
    let template = Template::parse(source, known);
    if template.is_err() {
        let detail = UNKNOWN_PLACEHOLDER_WITHOUT_RULE;
        let code = FaultCode::UnknownValue;
        faults.push(InputFault::new("/config/fallbackReply", code, detail));
    }
    template.ok()
}

fn reply_pointer(rule: &Rule, index: usize) -> String {
    let mut pointer = String::new();
    if rule.reply.is_some() {
        push_token(&mut pointer, "reply");
    } else {
        push_token(&mut pointer, "replies");
        push_index(&mut pointer, index);
    }
    pointer
}

fn too_large() -> InputFault {
    let detail = format!(
        "the compiled rules exceed {} MiB in total; use fewer or simpler rules",
        CompiledRules::MAX_BYTES / (1024 * 1024)
    );
    InputFault::new("/config/rules", FaultCode::TooLarge, detail)
}
