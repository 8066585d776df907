use std::task::Poll;

use futures::{FutureExt as _, future::join_all};

use super::*;

fn tenant(name: &str) -> TenantId {
    name.parse().unwrap()
}

fn queue() -> Arc<Queue> {
    Arc::new(Queue::new(Limits {
        running: 2,
        running_of_tenant: 1,
        waiting: 6,
        waiting_of_tenant: 4,
    }))
}

#[test]
fn tenants_take_turns_and_none_has_more_than_its_share() {
    let queue = queue();
    let mut hostile = [(); 4].map(|()| queue.enter(&tenant("hostile")).unwrap());
    let first = hostile[0].try_recv().unwrap();
    assert!(hostile[1].try_recv().is_err(), "its share is used");

    let mut other = queue.enter(&tenant("other")).unwrap();
    let others_place = other.try_recv().unwrap();
    let mut third = queue.enter(&tenant("third")).unwrap();
    assert!(third.try_recv().is_err(), "all places are taken");

    drop(first);
    let _second = hostile[1].try_recv().unwrap();
    drop(others_place);
    let _thirds_place = third.try_recv().unwrap();
    assert!(hostile[2].try_recv().is_err());
}

#[test]
fn too_many_jobs_are_refused_to_the_tenant_that_has_them() {
    let queue = queue();
    let mut jobs = Vec::new();
    for _ in 0..5 {
        jobs.push(queue.enter(&tenant("hostile")).unwrap());
    }
    assert!(queue.enter(&tenant("hostile")).is_none());
    assert!(queue.enter(&tenant("other")).is_some());
    // One that nobody waits for any more makes room.
    drop(jobs.pop());
    assert!(queue.enter(&tenant("hostile")).is_some());
}

#[test]
fn a_job_that_is_given_up_before_or_after_its_turn_holds_nothing() {
    let queue = queue();
    let mut running = queue.enter(&tenant("a")).unwrap();
    let permit = running.try_recv().unwrap();
    let unread = queue.enter(&tenant("b")).unwrap();
    let given_up = queue.enter(&tenant("a")).unwrap();
    let mut last = queue.enter(&tenant("a")).unwrap();
    drop(given_up);
    drop(unread);
    drop(permit);
    assert!(last.try_recv().is_ok());
    assert!(queue.enter(&tenant("c")).unwrap().try_recv().is_ok());
}

#[tokio::test]
async fn a_job_of_another_tenant_is_not_behind_all_of_a_hostile_one() {
    let pool = CpuPool::with_threads(1).unwrap();
    let endless = |_slice: Slice| Poll::<()>::Pending;
    let hostile = (0..8).map(|_| async {
        let admission = pool.admit(&tenant("hostile")).await.unwrap();
        admission.run(endless).await
    });
    let hostile = join_all(hostile);
    let other = async {
        let admission = pool.admit(&tenant("other")).await.unwrap();
        let mut slices = 0;
        let job = move |_slice: Slice| {
            slices += 1;
            if slices < 3 {
                Poll::Pending
            } else {
                Poll::Ready(slices)
            }
        };
        admission.run(job).await.unwrap()
    };
    futures::pin_mut!(hostile);
    assert!(hostile.as_mut().now_or_never().is_none());
    futures::select_biased! {
        slices = other.fuse() => assert_eq!(slices, 3),
        _ = hostile.fuse() => panic!("endless jobs ended"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_that_waits_too_long_is_refused() {
    let pool = CpuPool::with_threads(1).unwrap();
    let _held = pool.admit(&tenant("a")).await.unwrap();
    let refused = pool.admit(&tenant("a")).await.unwrap_err();
    assert!(matches!(refused, PoolError::Overloaded));
}
