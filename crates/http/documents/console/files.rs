//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-C11OY4hw.js", include_bytes!("assets/feed-C11OY4hw.js")),
    ("assets/files-Coj6j0qu.js", include_bytes!("assets/files-Coj6j0qu.js")),
    ("assets/index-DrUFrgMW.js", include_bytes!("assets/index-DrUFrgMW.js")),
    ("assets/index-THVjInPV.css", include_bytes!("assets/index-THVjInPV.css")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
