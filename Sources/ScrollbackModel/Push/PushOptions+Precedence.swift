extension PushOptions {
    /// These options, and what they leave open as others have it (row 126, contradiction A15).
    ///
    /// A vendor's configuration of a message goes before its arguments: `configuration.over(arguments)` is both.
    public func over(_ others: PushOptions) -> PushOptions {
        var merged = self
        merged.title = title ?? others.title
        merged.text = text ?? others.text
        merged.data = data ?? others.data
        merged.templateID = templateID ?? others.templateID
        merged.hidesTitle = hidesTitle ?? others.hidesTitle
        merged.forcesDetail = forcesDetail ?? others.forcesDetail
        merged.ios = ios ?? others.ios
        merged.android = android ?? others.android
        merged.harmony = harmony ?? others.harmony
        return merged
    }
}
