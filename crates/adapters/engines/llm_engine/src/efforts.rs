//! How models receive the effort of reasoning: not all accept every value, and some none.

use domain::ReasoningEffort;

/// How models that reason in any case refuse to do without, at Anthropic.
const WITHOUT_REASONING: &str = "thinking.type.disabled";
/// How models that reason refuse an effort, at Anthropic.
const EFFORT_ALONE: &str = "effort parameter";

/// The bits of all efforts.
const EFFORTS: u8 = 0x7f;
/// The bit of reasoning as such.
const REASONING: u8 = 0x80;

/// The efforts that a model refuses, and whether it refuses to reason as the service asks for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RefusedEfforts(u8);

/// The part of a request that a model refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EffortRefusal {
    /// The value that was sent.
    Value,
    /// The parameter with any value.
    Parameter,
    /// Reasoning with any effort.
    Reasoning,
}

impl EffortRefusal {
    /// Reads the text of an error, in lower case.
    pub(crate) fn read(text: &str) -> Option<Self> {
        const NAMES: [&str; 7] = [
            "reasoning_effort",
            "reasoningeffort",
            // Ollama.
            "reasoning value",
            "support thinking",
            // Anthropic.
            "adaptive thinking is not",
            EFFORT_ALONE,
            WITHOUT_REASONING,
        ];
        const OF_VALUES: [&str; 5] = ["value", "should be", "must be", "one of", WITHOUT_REASONING];
        let has_one = |words: &[&str]| words.iter().any(|word| text.contains(word));
        has_one(&NAMES).then(|| match () {
            () if has_one(&OF_VALUES) => Self::Value,
            () if text.contains(EFFORT_ALONE) => Self::Parameter,
            () => Self::Reasoning,
        })
    }
}

impl RefusedEfforts {
    /// Returns the effort to send for a wanted one. If the model refuses the shortest ones, it is the next longer
    /// one up to `low`. `None` leaves the effort to the model.
    pub(crate) fn sent_for(self, wanted: ReasoningEffort) -> Option<ReasoningEffort> {
        if self.0 & bit(wanted)? == 0 {
            return Some(wanted);
        }
        match wanted {
            ReasoningEffort::None => self.sent_for(ReasoningEffort::Minimal),
            ReasoningEffort::Minimal => self.sent_for(ReasoningEffort::Low),
            _ => None,
        }
    }

    /// Returns whether the model refuses to reason as the service asks for it.
    pub(crate) fn has_reasoning(self) -> bool {
        self.0 & REASONING != 0
    }

    /// Returns the efforts that are refused after another refusal.
    pub(crate) fn and(self, refusal: EffortRefusal, sent: Option<ReasoningEffort>) -> Self {
        match refusal {
            EffortRefusal::Value => Self(self.0 | sent.and_then(bit).unwrap_or_default()),
            EffortRefusal::Parameter => Self(self.0 | EFFORTS),
            EffortRefusal::Reasoning => Self(EFFORTS | REASONING),
        }
    }
}

/// `None` for an effort that only a newer version knows: it is not sent.
fn bit(effort: ReasoningEffort) -> Option<u8> {
    let mut known = ReasoningEffort::ALL.iter();
    known.position(|it| *it == effort).map(|at| 1 << at)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(&["none"], "none", Some("minimal"))]
    #[case(&["none", "minimal"], "none", Some("low"))]
    #[case(&["minimal"], "none", Some("none"))]
    #[case(&["minimal"], "minimal", Some("low"))]
    #[case(&["none", "minimal", "low"], "none", None)]
    #[case(&["medium"], "medium", None)]
    #[case(&[], "high", Some("high"))]
    #[case(&[], "endless", None)]
    fn short_efforts_have_replacements(
        #[case] refused: &[&str],
        #[case] wanted: &str,
        #[case] expected: Option<&str>,
    ) {
        let refused = refused.iter().map(|text| ReasoningEffort::read(text));
        let refused = refused.fold(RefusedEfforts::default(), |all, one| {
            all.and(EffortRefusal::Value, Some(one))
        });
        let sent = refused.sent_for(ReasoningEffort::read(wanted));
        assert_eq!(sent, expected.map(ReasoningEffort::read));
    }

    #[test]
    fn a_model_without_the_parameter_receives_none() {
        for (refusal, has_reasoning) in [
            (EffortRefusal::Parameter, false),
            (EffortRefusal::Reasoning, true),
        ] {
            let refused = RefusedEfforts::default().and(refusal, None);
            assert_eq!(refused.has_reasoning(), has_reasoning);
            for effort in ReasoningEffort::ALL {
                assert_eq!(refused.sent_for(*effort), None);
            }
        }
    }

    #[rstest]
    #[case(
        "unsupported value: 'reasoning_effort' does not support 'none' with this model. supported values are: 'low'.",
        Some(EffortRefusal::Value)
    )]
    #[case(
        "invalid reasoning value: 'minimal' (must be \"high\", \"medium\", \"low\", or \"none\")",
        Some(EffortRefusal::Value)
    )]
    #[case(
        "body.reasoning_effort: input should be 'low', 'medium' or 'high'",
        Some(EffortRefusal::Value)
    )]
    #[case(
        "unrecognized request argument supplied: reasoning_effort",
        Some(EffortRefusal::Reasoning)
    )]
    #[case(
        "argument not supported on this model: reasoningeffort",
        Some(EffortRefusal::Reasoning)
    )]
    #[case(
        "\"llama3.2\" does not support thinking",
        Some(EffortRefusal::Reasoning)
    )]
    #[case(
        "adaptive thinking is not supported on this model",
        Some(EffortRefusal::Reasoning)
    )]
    #[case(
        "this model does not support the effort parameter.",
        Some(EffortRefusal::Parameter)
    )]
    #[case(
        "\\\"thinking.type.disabled\\\" is not supported for this model. use \\\"thinking.type.adaptive\\\" and \\\"output_config.effort\\\" to control thinking behavior.",
        Some(EffortRefusal::Value)
    )]
    #[case("the value of max_tokens is too high", None)]
    fn refusals_of_efforts_are_read(#[case] text: &str, #[case] expected: Option<EffortRefusal>) {
        assert_eq!(EffortRefusal::read(text), expected);
    }
}
