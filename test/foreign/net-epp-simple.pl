# A registrar's day by the high-level methods of Net::EPP::Simple.
#
#   perl net-epp-simple.pl <port> <CA file> <registrar> <password>
#
# Prints a line per step: its name, the result code, and what it brought, with tabs between them.
use strict;
use warnings;
use utf8;
use Net::EPP::Simple;

binmode(STDOUT, ':encoding(UTF-8)');
my ($port, $ca_file, $user, $pass) = @ARGV;

sub connect_with {
	my (%more) = @_;
	return Net::EPP::Simple->new(
		host => 'localhost', port => $port, user => $user, pass => $pass,
		verify => 1, timeout => 60, load_config => 0, %more,
	);
}

sub step {
	my ($name, @brought) = @_;
	print join("\t", $name, $Net::EPP::Simple::Code // '', map { $_ // '' } @brought), "\n";
}

# None of the authorities that the machine trusts vouches for the registry.
my $stranger = connect_with();
step('other authorities', defined($stranger) ? 'connected' : $Net::EPP::Simple::Error =~ /(certificate verify failed)/);

my $epp = connect_with(ca_file => $ca_file) or die "no session: $Net::EPP::Simple::Error\n";
step('login', $epp->greeting->getElementsByTagName('svID')->shift->textContent);

step('check domain', $epp->check_domain('perl.test'));

sub contact {
	my ($id) = @_;
	my %addr = (street => ['Kanaal 1', 'Verdieping 2'], city => 'Gent', sp => 'OVL', pc => '9000', cc => 'BE');
	return {
		id => $id,
		postalInfo => {
			int => { name => 'Zoe Muller', org => 'Muller & Zonen', addr => \%addr },
			loc => { name => 'Zoë Müller', org => 'Müller & Zönen', addr => { %addr, city => 'Gent — Ĝ日本' } },
		},
		voice => '+32.91234567', fax => '+32.91234568', email => 'zoe@perl.test', authInfo => 'contact-auth',
	};
}
step('create contact', $epp->create_contact(contact($_))) for ('perl-owner', 'perl-admin');
step('check contact', $epp->check_contact('perl-owner'));

my $contact = $epp->contact_info('perl-owner');
step('contact info', @$contact{qw(id email voice authInfo clID)}, map { $contact->{postalInfo}->{loc}->{$_} } qw(name org));

step('check host', $epp->check_host('ns1.elsewhere.invalid'));
step('create host', $epp->create_host({ name => $_ })) for ('ns1.elsewhere.invalid', 'ns2.elsewhere.invalid');

my $order = {
	name => 'perl.test', period => 2, ns => ['ns1.elsewhere.invalid'], registrant => 'perl-owner', authInfo => 'domain-auth',
	contacts => { admin => 'perl-admin', tech => 'perl-admin' },
};
step('create domain', $epp->create_domain($order));
step('create domain again', $epp->create_domain($order));
step('check domain again', $epp->check_domain('perl.test'));

my $domain = $epp->domain_info('perl.test', undef, 1);
step('domain info', @$domain{qw(name authInfo clID)}, $domain->{registrant}->{id}, $domain->{contacts}->{tech}->{id}, map { $_->{name} } @{$domain->{ns}});

# A host of the domain's own has addresses.
my @addrs = ({ version => 'v4', ip => '192.0.2.1' }, { version => 'v6', ip => '2001:db8::1' });
step('create host below', $epp->create_host({ name => 'ns1.perl.test', addrs => \@addrs }));
step('host info', map { $_->{addr} } @{$epp->host_info('ns1.perl.test')->{addrs}});

my $renewal = { name => 'perl.test', period => 1, cur_exp_date => substr($domain->{exDate}, 0, 10) };
step('renew', $epp->renew_domain($renewal));
step('renew again with the old date', $epp->renew_domain($renewal));
step('domain info after renewal', $domain->{exDate}, $epp->domain_info('perl.test')->{exDate});

step('update domain', $epp->update_domain({ name => 'perl.test', add => { ns => ['ns1.perl.test', 'ns2.elsewhere.invalid'], status => ['clientHold'] }, rem => { ns => ['ns1.elsewhere.invalid'] }, chg => { authInfo => 'domain-auth-2' } }));
my $updated = $epp->domain_info('perl.test');
step('domain info after update', $updated->{authInfo}, join(' ', sort @{$updated->{status}}), sort @{$updated->{ns}});
# It writes an empty <add> and an empty <rem> beside the <chg>, where RFC 5733 section 4 wants a status in each.
step('update contact', $epp->update_contact({ id => 'perl-owner', chg => { email => 'zoë@perl.test', voice => '+32.90000000' } }));

step('delete a contact in use', $epp->delete_contact('perl-owner'));
step('delete a host in use', $epp->delete_host('ns2.elsewhere.invalid'));
step('take the hosts off', $epp->update_domain({ name => 'perl.test', rem => { ns => ['ns1.perl.test', 'ns2.elsewhere.invalid'] } }));
step('delete host', $epp->delete_host($_)) for ('ns1.perl.test', 'ns2.elsewhere.invalid');
step('delete domain', $epp->delete_domain('perl.test'));
step('ping', $epp->ping);
step('logout', $epp->logout);
