//! The contract tests of the port: for a node that is alone, for one of several, and for several.

mod alone {
    contract::rate_limiter_contract!(crate::nodes::alone);
}

mod one_of_several {
    contract::rate_limiter_contract!(crate::nodes::one_of_several);
}

mod shared {
    contract::shared_rate_limiter_contract!(crate::nodes::nodes);
}
