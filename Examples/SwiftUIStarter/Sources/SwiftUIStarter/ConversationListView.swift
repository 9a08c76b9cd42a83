#if canImport(SwiftUI)
    import Scrollback
    import ScrollbackUI
    import SwiftUI

    /// The list of conversations, or the results of a search.
    struct ConversationListView: View {
        let session: SessionModel
        @Bindable var list: ConversationListModel

        var body: some View {
            @Bindable var search = list.search
            @Bindable var recents = list.recents
            NavigationStack(path: $list.path) {
                List {
                    if let banner = session.connection.banner {
                        Label(banner, systemImage: "wifi.slash").foregroundStyle(.secondary)
                    }
                    if search.isActive {
                        SearchResults(list: list, search: search)
                    } else {
                        if let notice = list.notice { Text(notice).foregroundStyle(.secondary) }
                        Conversations(list: list)
                    }
                }
                .searchable(text: $search.text)
                .navigationTitle("Chats")
                .navigationDestination(for: ConversationModel.self) { ConversationView(screen: $0) }
                .toolbar {
                    ToolbarItem(placement: .cancellationAction) {
                        Button("Sign out") { Task { await session.signOut() } }
                    }
                    ToolbarItem(placement: .primaryAction) {
                        Button("New group", systemImage: "square.and.pencil") { list.beginGroup() }
                    }
                }
                .showing($search.error)
            }
            .sheet(item: $list.newGroup) { NewGroupView(list: list, group: $0) }
            .showing($recents.error)
        }
    }

    /// The rows of the conversations, with their actions in a context menu.
    struct Conversations: View {
        let list: ConversationListModel

        var body: some View {
            let recents = list.recents
            ForEach(list.rows) { row in
                Button {
                    list.open(row.id)
                } label: {
                    ConversationRowView(row: row)
                }
                .buttonStyle(.plain)
                .task { await list.rowAppeared(row.id) }
                .contextMenu {
                    CallButton(title: row.muteTitle, image: "bell.slash") { try await list.toggleMuted(row) }
                    CallButton(title: row.pinTitle, image: "pin") { try await list.togglePinned(row) }
                    CallButton(title: "Mark as read", image: "checkmark") { try await recents.markRead([row.id]) }
                    CallButton(title: "Mark as unread", image: "circle.fill") { try await recents.markUnread(row.id) }
                    CallButton(title: "Remove from the list", image: "xmark") { try await recents.remove(row.id) }
                }
            }
        }
    }

    struct ConversationRowView: View {
        let row: ConversationRow

        var body: some View {
            HStack {
                VStack(alignment: .leading) {
                    HStack {
                        Text(row.title).font(.headline).lineLimit(1)
                        if row.isMuted { Image(systemName: "bell.slash").accessibilityLabel("Muted") }
                        if row.isPinned { Image(systemName: "pin").accessibilityLabel("Pinned") }
                    }
                    Text(row.subtitle).foregroundStyle(.secondary).lineLimit(1)
                }
                Spacer()
                VStack(alignment: .trailing) {
                    Text(row.time).font(.caption)
                    HStack {
                        if row.hasMention { Image(systemName: "at").accessibilityLabel("You are mentioned") }
                        if row.isUnread { Text(row.badge).bold().accessibilityLabel(row.badgeTitle) }
                    }
                }
            }
            .contentShape(.rect)
        }
    }

    /// The messages that a search found.
    struct SearchResults: View {
        let list: ConversationListModel
        let search: SearchModel

        var body: some View {
            if let notice = search.notice { Text(notice).foregroundStyle(.secondary) }
            ForEach(search.results) { row in
                VStack(alignment: .leading) {
                    Button(row.heading) { list.open(row) }
                    Text(row.highlighted).lineLimit(2)
                }
            }
            if search.hasMore { Button("More") { Task { await search.loadMore() } } }
        }
    }

    /// The form that creates a group.
    struct NewGroupView: View {
        let list: ConversationListModel
        @Bindable var group: NewGroupModel

        var body: some View {
            @Bindable var directory = group.directory
            NavigationStack {
                Form {
                    TextField("Name of the group", text: $group.name)
                    Section("Members") {
                        ForEach(group.members) { user in
                            Button(user.title, systemImage: "minus.circle") { group.remove(user.id) }
                                .accessibilityLabel(user.removeTitle)
                        }
                    }
                    Section("Add members") {
                        TextField("Name or ID", text: $directory.text).autocorrectionDisabled()
                        ForEach(group.candidates) { user in
                            Button(user.title, systemImage: "plus.circle") { group.add(user) }
                                .accessibilityLabel(user.addTitle)
                        }
                    }
                }
                .formStyle(.grouped)
                .navigationTitle("New group")
                .toolbar {
                    ToolbarItem(placement: .cancellationAction) { Button("Cancel") { list.newGroup = nil } }
                    ToolbarItem(placement: .confirmationAction) {
                        Button("Create") { Task { await list.createGroup() } }.disabled(!group.canCreate)
                    }
                }
                .showing($group.error)
            }
            .frame(minWidth: 320, minHeight: 400)
        }
    }
#endif
