//! An agent's rules, compiled.

use std::{
    cmp::Reverse,
    mem,
    sync::{Arc, Mutex, PoisonError},
    task::Poll,
    time::Duration,
};

use cpu_pool::Slice;
use domain::{
    Agent, Fault, FaultCode, Rule,
    fault::{push_index, push_token},
};

use crate::{
    keywords::{FoldedText, Keyword},
    pattern::{Captures, Pattern, PatternMemory},
    template::{KnownCaptures, Template, names_a_capture},
};

/// How many threads' memories a book keeps. More threads may match at once and make their own.
const SPARE_MEMORIES: usize = 2;

const UNKNOWN_PLACEHOLDER: &str = "names an unknown placeholder; there are {{agent.name}}, \
    {{agent.personality}}, {{message}}, {{user.id}}, and with a pattern {{capture.…}} with the \
    number or name of one of its groups";
const UNKNOWN_PLACEHOLDER_WITHOUT_RULE: &str = "names an unknown placeholder; there are \
    {{agent.name}}, {{agent.personality}}, {{message}} and {{user.id}}";

/// The rules that count for an agent, highest priority first.
#[derive(Debug)]
pub(crate) struct RuleBook {
    rules: Box<[CompiledRule]>,
    has_rules: bool,
    fallback: Option<Template>,
    spare_memories: Mutex<Vec<Memories>>,
    bytes: usize,
}

/// The memory of one thread that matches the rules of a book.
#[derive(Debug)]
pub(crate) struct Memories {
    /// By the rules' places in the book.
    patterns: Vec<PatternMemory>,
    /// The number of keywords that were found already of the rule that is being tried.
    found_keywords: usize,
}

/// The compilation of an agent's rules, which can pause between two of them.
#[derive(Debug)]
pub(crate) struct Compilation {
    agent: Arc<Agent>,
    next: usize,
    counting: Vec<(i32, CompiledRule)>,
    faults: Vec<Fault>,
    bytes: usize,
}

#[derive(Debug)]
struct CompiledRule {
    matcher: Matcher,
    answers: Box<[Template]>,
}

#[derive(Debug)]
enum Matcher {
    Pattern(Box<Pattern>),
    /// All must occur.
    Keywords(Box<[Keyword]>),
}

impl RuleBook {
    /// Most bytes of a book: what surely fits into the cache. An agent beyond it would be compiled
    /// anew for every message.
    pub(crate) const MOST_BYTES: usize = 48 * 1024 * 1024;

    /// Compiles an agent's rules without a pause.
    pub(crate) fn compile(agent: &Arc<Agent>) -> Result<Self, Vec<Fault>> {
        let mut compilation = Compilation::new(Arc::clone(agent));
        loop {
            if let Poll::Ready(result) = compilation.advance(Slice::new(Duration::MAX)) {
                return result;
            }
        }
    }

    /// How many rules count.
    pub(crate) fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether the agent has rules, be it such that do not count.
    pub(crate) fn has_rules(&self) -> bool {
        self.has_rules
    }

    /// The agent's own answer when nothing matched.
    pub(crate) fn fallback(&self) -> Option<&Template> {
        self.fallback.as_ref()
    }

    /// Most bytes that the book holds between searches.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Tries one rule; pending when the slice is over. `folded` gives the message in folded form.
    pub(crate) fn try_rule<'a>(
        &self,
        place: usize,
        memories: &mut Memories,
        message: &str,
        folded: impl FnOnce() -> &'a FoldedText,
        slice: Slice,
    ) -> Poll<Option<Captures>> {
        match &self.rules[place].matcher {
            Matcher::Pattern(pattern) => {
                pattern.find(&mut memories.patterns[place], message, slice)
            }
            Matcher::Keywords(keywords) => {
                let folded = folded();
                let found_before = mem::take(&mut memories.found_keywords);
                for (place, keyword) in keywords.iter().enumerate().skip(found_before) {
                    if place > found_before && slice.is_over() {
                        memories.found_keywords = place;
                        return Poll::Pending;
                    }
                    if !keyword.occurs_in(folded) {
                        return Poll::Ready(None);
                    }
                }
                Poll::Ready(Some(Captures::new()))
            }
        }
    }

    /// The answer of one rule in the turn of this number: each of its answers in turn.
    pub(crate) fn answer(&self, place: usize, turn_number: i64) -> Option<&Template> {
        let answers = &self.rules[place].answers;
        let count = i64::try_from(answers.len()).ok()?;
        let turn = usize::try_from(turn_number.checked_rem_euclid(count)?).ok()?;
        answers.get(turn)
    }

    /// Lends the memory of a search.
    pub(crate) fn take_memories(&self) -> Memories {
        let mut spare = self.lock_spare_memories();
        spare.pop().unwrap_or_else(|| {
            let patterns = self.rules.iter().map(|_| PatternMemory::default());
            Memories {
                patterns: patterns.collect(),
                found_keywords: 0,
            }
        })
    }

    /// Takes it back.
    pub(crate) fn give_back(&self, memories: Memories) {
        let mut spare = self.lock_spare_memories();
        if spare.len() < SPARE_MEMORIES {
            spare.push(memories);
        }
    }

    fn lock_spare_memories(&self) -> std::sync::MutexGuard<'_, Vec<Memories>> {
        // Pushing and popping leave the list whole, whatever panicked elsewhere.
        let locked = self.spare_memories.lock();
        locked.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Compilation {
    pub(crate) fn new(agent: Arc<Agent>) -> Self {
        Self {
            agent,
            next: 0,
            counting: Vec::new(),
            faults: Vec::new(),
            bytes: size_of::<RuleBook>(),
        }
    }

    /// Continues until it is done or the slice is over; compiles at least one rule. Every rule is
    /// compiled, also those that do not count because the agent lacks their capability, so that
    /// all faults are found at once; pointers are inside the agent.
    pub(crate) fn advance(&mut self, slice: Slice) -> Poll<Result<RuleBook, Vec<Fault>>> {
        let agent = Arc::clone(&self.agent);
        let rules = agent.config.rules.as_deref().unwrap_or_default();
        while let Some(rule) = rules.get(self.next) {
            self.add(rule);
            if self.bytes > RuleBook::MOST_BYTES {
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
        match CompiledRule::compile(rule) {
            Ok(compiled) => {
                self.bytes += compiled.bytes();
                if counts(rule, &self.agent) {
                    self.counting.push((rule.priority.unwrap_or(0), compiled));
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

    fn finish(&mut self) -> Result<RuleBook, Vec<Fault>> {
        let fallback = compile_fallback(&self.agent, &mut self.faults);
        if !self.faults.is_empty() {
            return Err(mem::take(&mut self.faults));
        }
        let mut counting = mem::take(&mut self.counting);
        // A stable sort: equal priorities stay in their order.
        counting.sort_by_key(|&(priority, _)| Reverse(priority));
        Ok(RuleBook {
            rules: counting.into_iter().map(|(_, rule)| rule).collect(),
            has_rules: self.next > 0,
            bytes: self.bytes + fallback.as_ref().map_or(0, Template::bytes),
            fallback,
            spare_memories: Mutex::default(),
        })
    }
}

impl CompiledRule {
    fn compile(rule: &Rule) -> Result<Self, Vec<Fault>> {
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
        let mut answers = Vec::with_capacity(rule.answers().len());
        for (index, answer) in rule.answers().iter().enumerate() {
            match Template::parse(answer, captures) {
                Ok(template) => answers.push(template),
                Err(_unknown) => {
                    let pointer = answer_pointer(rule, index);
                    let code = FaultCode::UnknownValue;
                    faults.push(Fault::new(pointer, code, UNKNOWN_PLACEHOLDER));
                }
            }
        }
        match matcher {
            Some(matcher) if faults.is_empty() => Ok(Self {
                matcher,
                answers: answers.into_boxed_slice(),
            }),
            _ => Err(faults),
        }
    }

    fn bytes(&self) -> usize {
        let matcher = match &self.matcher {
            Matcher::Pattern(pattern) => {
                pattern.compiled_bytes() + SPARE_MEMORIES * pattern.kept_bytes()
            }
            Matcher::Keywords(keywords) => keywords.iter().map(Keyword::bytes).sum(),
        };
        let answers = self.answers.iter();
        size_of::<Self>() + matcher + answers.map(Template::bytes).sum::<usize>()
    }
}

impl Matcher {
    fn compile(rule: &Rule, faults: &mut Vec<Fault>) -> Option<Self> {
        if let Some(source) = &rule.pattern {
            let keeps_captures = rule.answers().iter().any(|text| names_a_capture(text));
            let compiled = Pattern::compile(source, keeps_captures);
            return compiled
                .map_err(|reason| {
                    faults.push(Fault::new("/pattern", FaultCode::BadFormat, reason));
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
                let detail = "is nothing but white space";
                faults.push(Fault::new(pointer, FaultCode::BadFormat, detail));
            }
        }
        if sources.is_empty() {
            let detail = "at least 1 keyword";
            faults.push(Fault::new("/keywords", FaultCode::TooShort, detail));
        }
        (!keywords.is_empty()).then(|| Self::Keywords(keywords.into_boxed_slice()))
    }
}

/// Whether the agent has the capability that the rule asks for.
fn counts(rule: &Rule, agent: &Agent) -> bool {
    rule.capability.as_ref().is_none_or(|wanted| {
        let mut capabilities = agent.capabilities.iter();
        capabilities.any(|capability| capability.trim() == wanted.trim())
    })
}

fn compile_fallback(agent: &Agent, faults: &mut Vec<Fault>) -> Option<Template> {
    let source = agent.config.fallback_reply.as_deref()?;
    let template = Template::parse(source, KnownCaptures::None);
    if template.is_err() {
        let detail = UNKNOWN_PLACEHOLDER_WITHOUT_RULE;
        let code = FaultCode::UnknownValue;
        faults.push(Fault::new("/config/fallbackReply", code, detail));
    }
    template.ok()
}

fn answer_pointer(rule: &Rule, index: usize) -> String {
    let mut pointer = String::new();
    if rule.reply.is_some() {
        push_token(&mut pointer, "reply");
    } else {
        push_token(&mut pointer, "replies");
        push_index(&mut pointer, index);
    }
    pointer
}

fn too_large() -> Fault {
    let detail = format!(
        "the rules take more than {} MiB together once compiled",
        RuleBook::MOST_BYTES / (1024 * 1024)
    );
    Fault::new("/config/rules", FaultCode::TooLarge, detail)
}
