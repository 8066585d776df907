//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-CppuCp3l.js", include_bytes!("assets/feed-CppuCp3l.js")),
    ("assets/index-D7jTaFa-.js", include_bytes!("assets/index-D7jTaFa-.js")),
    ("assets/index-eFhCWEcW.css", include_bytes!("assets/index-eFhCWEcW.css")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
