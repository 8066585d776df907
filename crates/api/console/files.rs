//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-Di8nIKV7.js", include_bytes!("assets/feed-Di8nIKV7.js")),
    ("assets/index-CQlcNUJM.css", include_bytes!("assets/index-CQlcNUJM.css")),
    ("assets/index-DRlMlQkJ.js", include_bytes!("assets/index-DRlMlQkJ.js")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
