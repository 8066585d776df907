//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-C408s7Lk.js", include_bytes!("assets/feed-C408s7Lk.js")),
    ("assets/index-BgPjhA2Q.js", include_bytes!("assets/index-BgPjhA2Q.js")),
    ("assets/index-CQlcNUJM.css", include_bytes!("assets/index-CQlcNUJM.css")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
