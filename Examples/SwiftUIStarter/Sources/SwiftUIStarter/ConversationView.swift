#if canImport(SwiftUI)
    import PhotosUI
    import Scrollback
    import ScrollbackUI
    import SwiftUI

    /// One conversation: its messages, and the field for the next one.
    struct ConversationView: View {
        let screen: ConversationModel

        var body: some View {
            @Bindable var timeline = screen.timeline
            @Bindable var composer = screen.composer
            VStack(spacing: 0) {
                if timeline.isLoaded {
                    MessagesView(screen: screen)
                } else {
                    ProgressView().frame(maxHeight: .infinity)
                }
                Text(screen.typing.typing).font(.caption).foregroundStyle(.secondary)
                ComposerView(composer: composer)
            }
            .navigationTitle(screen.title)
            .showing($timeline.error)
            .showing($composer.error)
        }
    }

    /// The rows of the timeline, which begin at the model's `startRow` or at the newest message.
    struct MessagesView: View {
        let screen: ConversationModel
        @State private var position: ScrollPosition

        init(screen: ConversationModel) {
            self.screen = screen
            var position = ScrollPosition(idType: TimelineRow.ID.self, edge: .bottom)
            if let row = screen.startRow { position.scrollTo(id: row, anchor: .center) }
            _position = State(initialValue: position)
        }

        var body: some View {
            ScrollView {
                LazyVStack(spacing: 8) {
                    ForEach(screen.timeline.rows) { TimelineRowView(row: $0, screen: screen) }
                }
                .scrollTargetLayout()
                .padding()
            }
            .defaultScrollAnchor(.bottom)
            .scrollPosition($position)
            .onScrollTargetVisibilityChange(idType: TimelineRow.ID.self, threshold: 0.1) { rows in
                screen.timeline.setVisible(rows)
            }
            .onChange(of: screen.startRow) { _, row in
                if let row { position.scrollTo(id: row, anchor: .center) }
            }
            .toolbar {
                if !screen.timeline.isAtNewest {
                    CallButton(title: "Newest", image: "arrow.down") { try await screen.timeline.jump(to: .latest) }
                }
            }
        }
    }

    struct TimelineRowView: View {
        let row: TimelineRow
        let screen: ConversationModel

        var body: some View {
            switch row {
            case .day(let date, _):
                Text(date, format: .dateTime.weekday(.wide).day().month(.wide)).font(.caption).bold()
            case .unread:
                Label("New messages", systemImage: "arrow.down").font(.caption).foregroundStyle(.red)
            case .gap(_, let isLoading):
                // The model loads the gap that is nearest to the visible rows.
                ProgressView().opacity(isLoading ? 1 : 0.3)
            case .message(let message):
                MessageRowView(row: message, screen: screen)
            }
        }
    }

    /// A message in a bubble, with its reactions, time and delivery below.
    struct MessageRowView: View {
        let row: MessageRow
        let screen: ConversationModel

        var body: some View {
            VStack(alignment: row.isOwn ? .trailing : .leading, spacing: 2) {
                if row.showsSender { Text(row.senderName).font(.caption).bold() }
                VStack(alignment: .leading, spacing: 4) {
                    if let reference = row.reference {
                        Text(reference.summary).font(.caption).foregroundStyle(.secondary).lineLimit(2)
                    }
                    if row.picture != nil {
                        AsyncImage(url: screen.pictures[row.id]) {
                            $0.resizable().scaledToFit()
                        } placeholder: {
                            ProgressView()
                        }
                        .frame(maxWidth: 240, maxHeight: 240)
                        .task { await screen.loadPicture(of: row) }
                        .accessibilityLabel("Picture")
                    }
                    if let text = row.text { Text(text) }
                }
                .padding(8)
                .background(Color.accentColor.opacity(row.isOwn ? 0.25 : 0.1), in: .rect(cornerRadius: 12))
                .contextMenu { MessageActions(row: row, screen: screen) }
                HStack(spacing: 6) {
                    ForEach(row.reactions) { reaction in
                        Button(reaction.title) { screen.toggleReaction(reaction.id, of: row) }
                            .fontWeight(reaction.isOwn ? .bold : .regular)
                            .accessibilityLabel(reaction.label)
                    }
                    if row.mentionsUser { Image(systemName: "at").accessibilityLabel("You are mentioned") }
                    Text(row.footnote)
                    if let delivery = row.delivery {
                        Image(systemName: delivery.symbol).accessibilityLabel(delivery.title)
                    }
                }
                .font(.caption)
                .foregroundStyle(.secondary)
            }
            .frame(maxWidth: .infinity, alignment: row.isOwn ? .trailing : .leading)
        }
    }

    struct MessageActions: View {
        let row: MessageRow
        let screen: ConversationModel

        var body: some View {
            let timeline = screen.timeline
            if row.canReply {
                ForEach(["👍", "❤️", "😂"], id: \.self) { value in
                    Button(value) { screen.toggleReaction(value, of: row) }
                }
                Button("Reply", systemImage: "arrowshape.turn.up.left") { screen.composer.reply(to: row) }
            }
            if row.canEdit { Button("Edit", systemImage: "pencil") { screen.composer.edit(row) } }
            if row.canRetry { CallButton(title: "Retry", image: "repeat") { try await timeline.retry(row.message) } }
            if row.canCancel { CallButton(title: "Cancel", image: "xmark") { try await timeline.cancel(row.message) } }
            if row.canRecall { CallButton(title: "Recall", image: "trash") { try await timeline.recall(row.message) } }
        }
    }

    /// The field for a message, with members to mention, the message of a reply or an edit, and a button for pictures.
    struct ComposerView: View {
        @Bindable var composer: ComposerModel
        @State private var picked: PhotosPickerItem?

        var body: some View {
            VStack(alignment: .leading) {
                ForEach(composer.suggestions) { user in
                    Button(user.title, systemImage: "at") { composer.mention(user) }
                }
                if composer.hasSubject {
                    HStack {
                        Text(composer.subjectTitle).lineLimit(1)
                        Spacer()
                        Button("Cancel", systemImage: "xmark.circle") { composer.cancel() }.labelStyle(.iconOnly)
                    }
                    .foregroundStyle(.secondary)
                }
                HStack {
                    PhotosPicker(selection: $picked, matching: .images) {
                        Image(systemName: "photo").accessibilityLabel("Picture")
                    }
                    TextField("Message", text: $composer.text, axis: .vertical).lineLimit(1...5)
                    Button("Send", systemImage: "arrow.up.circle.fill") { Task { await composer.send() } }
                        .labelStyle(.iconOnly)
                        .keyboardShortcut(.return, modifiers: .command)
                        .disabled(!composer.canSend)
                }
            }
            .padding(8)
            .onChange(of: picked) { _, item in
                guard let item else { return }
                picked = nil
                Task {
                    // Without data, the composer shows that it is no picture.
                    let data = try? await item.loadTransferable(type: Data.self)
                    await composer.sendPicture(data ?? Data())
                }
            }
        }
    }
#endif
