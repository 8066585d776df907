//! The list of promises of turns.

/// Hands the list of promises of turns to another macro of this crate.
#[doc(hidden)]
#[macro_export]
macro_rules! turn_promises {
    ($consumer:ident $($argument:path)?) => {
        $crate::$consumer! {
            [$($argument)?]
            record_exchange {
                stores_a_whole_turn,
                writes_turn_started_and_turn_completed,
                makes_a_new_conversation_with_its_first_exchange,
                exchanges_follow_each_other,
                refuses_an_exchange_with_another_agent_version,
                refuses_an_exchange_with_another_turn_count,
                answers_agent_not_found_to_an_exchange,
                answers_conversation_not_found_to_an_exchange,
                answers_busy_to_an_exchange_beside_an_open_turn,
                records_the_claim_with_the_exchange,
                judges_the_key_of_an_exchange_before_all_else,
                a_key_may_be_used_again_when_it_is_forgotten,
            }
            begin_turn {
                starts_a_turn_in_an_idle_conversation,
                writes_turn_started,
                makes_a_new_conversation_with_its_first_turn,
                numbers_turns_and_messages_onward,
                queues_behind_a_running_turn,
                refuses_a_turn_that_will_not_wait,
                sixteen_turns_may_wait,
                overtakes_no_turn_that_waits,
                refuses_to_start_on_stale_assumptions,
                queues_on_stale_assumptions,
                answers_agent_not_found_to_a_turn,
                answers_conversation_not_found_to_a_turn,
                refuses_to_start_for_a_node_that_is_not_alive,
                records_the_claim_with_the_turn,
                judges_the_key_of_a_turn_before_all_else,
            }
            finish_turn {
                completes_a_turn_with_its_answer,
                fails_a_turn_with_its_problem,
                writes_how_the_turn_ended,
                refuses_to_end_a_turn_that_does_not_run_here,
                an_end_that_is_stored_is_told_again,
                an_end_is_told_again_after_its_conversation_is_deleted,
                refuses_to_end_a_turn_twice,
                ends_the_turn_of_a_node_that_has_left,
            }
            released_keys {
                a_retryable_failure_gives_the_key_back,
                a_key_given_back_is_told_to_who_would_make_a_conversation,
                a_key_given_back_is_taken_over_in_its_conversation,
                a_key_given_back_is_taken_over_by_who_knows_of_it,
                a_key_given_back_is_taken_over_by_another_command,
                an_exchange_takes_over_a_key_given_back,
                one_of_many_takes_over_a_key_given_back,
                a_key_given_back_is_forgotten_after_its_time,
                any_other_end_keeps_the_key,
                releases_no_key_that_another_turn_has_taken_over,
            }
            turn_queue {
                starts_the_turn_that_waits_when_one_ends,
                writes_the_message_of_a_promoted_turn,
                starts_waiting_turns_in_order_of_arrival,
                a_promoted_turn_is_ended_by_its_node,
                promotes_turns_that_asked_elsewhere,
                starts_the_turn_that_waits_behind_a_failed_one,
                promotes_nothing_when_told_not_to,
                promotes_nothing_to_a_node_that_has_left,
                a_promoted_turn_takes_the_agents_present_version,
                promotes_within_the_conversation_only,
                a_promoted_turn_keeps_its_own_key,
            }
            cancel_turn {
                cancels_a_running_turn,
                keeps_what_had_been_said,
                keeps_no_empty_message,
                keeps_the_tools_that_were_called,
                cancels_a_turn_that_waits,
                promotes_to_the_node_that_cancels,
                what_had_been_said_comes_before_the_next_question,
                promotes_nothing_without_a_node,
                cancels_nothing_that_has_ended,
                cancels_no_turn_that_was_never_asked,
                a_cancelled_turn_cannot_be_completed,
            }
            find_turn {
                finds_a_turn_with_its_owner,
                a_promoted_turn_keeps_its_owner,
                finds_no_turn_that_was_never_asked,
            }
            turn_recovery {
                marks_processes_that_are_dead,
                marks_nobody_for_a_process_without_a_lease,
                forgets_dead_processes_without_turns,
                a_marked_process_begins_nothing,
                a_marked_process_is_promoted_nothing,
                tells_the_turns_in_progress_under_a_process,
                tells_the_turns_that_wait,
                names_no_tenant_in_which_all_is_well,
                names_tenants_with_turns_of_dead_processes,
                names_tenants_with_turns_that_wait_in_vain,
                fails_a_turn_that_waits,
                fails_no_turn_that_does_not_wait,
            }
            sweep {
                fails_turns_of_dead_processes,
                fails_turns_of_unknown_processes,
                touches_nothing_while_all_is_well,
                touches_no_more_turns_than_the_limit,
                sweeps_one_tenant_alone,
                a_late_end_of_a_swept_turn_is_refused,
                finds_nothing_in_what_was_deleted,
            }
            sweep_queue {
                starts_what_waits_behind_a_lost_turn,
                starts_what_waits_behind_nothing,
                starts_what_waits_in_order_of_arrival,
                starts_one_turn_in_each_conversation,
                fails_turns_that_waited_for_too_long,
                the_next_counts_when_others_waited_for_too_long,
                starts_nothing_for_a_process_that_may_not,
                a_pass_moves_no_time_backwards,
            }
            concurrent_turns {
                one_of_many_exchanges_on_one_assumption_is_recorded,
                one_turn_runs_at_a_time_however_many_are_asked_at_once,
                one_key_begins_one_turn_however_often_it_is_sent,
                one_key_records_one_exchange_however_often_it_is_sent,
                every_write_of_a_group_has_its_own_outcome,
                a_bad_write_of_a_group_fails_alone,
                either_cancel_or_completion_wins,
                a_turn_is_finished_once_however_often_it_is_sent,
                turns_of_many_conversations_run_beside_each_other,
            }
            concurrent_sweeps {
                sweeps_at_once_fail_and_start_each_turn_once,
                marks_at_once_mark_each_process_once,
                either_a_sweep_or_the_end_wins,
                either_a_sweep_or_a_cancellation_wins,
                no_turn_stays_that_began_while_its_process_was_marked,
            }
        }
    };
}
